"""What is known of a model with an idea (`idea.py`) only once it is built: parameters, FLOPs, and whether it decodes.

Parameters and FLOPs are counted on the meta device, which has shapes and no values, and without kernels.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.utils.flop_counter import FlopCounterMode

from transformer.model import kernels
from transformer.model.config import ModelConfig
from transformer.model.idea import blaming, module_of, name_of
from transformer.model.ids import END, PADDING
from transformer.model.masks import Rows
from transformer.model.network import Network
from transformer.model.networks import network
from transformer.support.files import InputError

UNIT = 8  # FLOPs are counted for lengths of 1, 2 and 3 times as many subwords
Polynomial = tuple[float, ...]  # factors of 1, source, target, source^2, target^2 and source x target


@contextmanager
def _counting(config: ModelConfig) -> Iterator[None]:
    """The context in which a model is counted. What it does shows in no random number of the caller."""
    kernels.ON, before = False, kernels.ON
    try:
        with torch.random.fork_rng(devices=[]), blaming(config.idea, everything=True):
            yield
    finally:
        kernels.ON = before


def _on_meta(config: ModelConfig, vocabulary: int) -> Network:
    with torch.device("meta"):
        return network(config, vocabulary)


@cache
def built_weights(config: ModelConfig, vocabulary: int) -> tuple[int, dict[str, torch.Size]]:
    """How many parameters a model has, and the shapes of all tensors of its state."""
    with _counting(config):
        model = _on_meta(config, vocabulary)
        shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
        return sum(parameter.numel() for parameter in model.parameters()), shapes


@cache
def built_flops(config: ModelConfig, vocabulary: int) -> tuple[Polynomial, float]:
    """The FLOPs of a forward pass over a pair, as a polynomial of its lengths, and those of the optimizer in a step.

    Raises InputError if they depend on values, and if no gradient reaches a parameter.
    """
    with _counting(config):
        model = _on_meta(config, vocabulary)

        def count(source: int, target: int) -> int:
            ids = (torch.ones(1, UNIT * times, dtype=torch.long, device="meta") for times in (source, target))
            with FlopCounterMode(display=False) as counter:
                output.append(model.logits(model(*map(Rows.of, ids))))
            return counter.get_total_flops()

        output: list[Tensor] = []
        one, source_2, target_2 = count(1, 1), count(2, 1), count(1, 2)
        ss, tt = (count(3, 1) - 2 * source_2 + one) / 2, (count(1, 3) - 2 * target_2 + one) / 2
        st = count(2, 2) - source_2 - target_2 + one
        s, t = source_2 - one - 3 * ss - st, target_2 - one - 3 * tt - st
        factors = one - s - t - ss - tt - st, s / UNIT, t / UNIT, *(each / UNIT**2 for each in (ss, tt, st))
        output[0].sum().backward()
        for name, parameter in model.named_parameters():
            if parameter.requires_grad and parameter.grad is None:
                text = f"no gradient reaches {name}; use it, delete it, or set its requires_grad to False"
                raise InputError(f"{name_of(config.idea or '')}: {text}")
        optimizer = own_optimizer(model)
        if optimizer is None:
            return factors, 0.0
        optimizer.step()  # the first step may make the state
        with FlopCounterMode(display=False) as counter:
            optimizer.step()
        return factors, float(counter.get_total_flops())


def own_optimizer(model: Network) -> Optimizer | None:
    """The optimizer of a model's idea, if it has one.

    Raises InputError if it is no `torch.optim.Optimizer`, or leaves out a parameter.
    """
    code = model.config.idea
    with torch.random.fork_rng(devices=[]), blaming(code, everything=True):
        if code is None or not (make := getattr(module_of(code), "optimizer", None)):
            return None
        optimizer = make(model)
    if not isinstance(optimizer, Optimizer):
        text = f"returns {type(optimizer).__name__}, and not a torch.optim.Optimizer"
        raise InputError(f"{name_of(code)}: optimizer(model) {text}")
    updated = {parameter for group in optimizer.param_groups for parameter in group["params"]}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and parameter not in updated:
            text = f"leaves out {name}; give it each parameter, or set requires_grad of this one to False"
            raise InputError(f"{name_of(code)}: optimizer(model) {text}")
    return optimizer


def check_idea(model: Network) -> None:
    """Raises InputError if a model with an idea cannot be trained and decoded, before hours are spent on it.

    It computes the same logits in a search, subword by subword, as for packed rows at once. Otherwise an output depends
    on later subwords or on other sentences, or the cache lacks what it depends on. The weights of a copy get noise
    before, because a change may begin without effect. Also raises the errors of `built_flops`.
    """
    code = model.config.idea or ""
    built_flops(model.config, len(model.embedding))
    sides = [[[3, 2, 3, 2, END], [2, END]], [[2, 2, 3, END], [3, 3, 2, 3, 2, END]]]
    with torch.random.fork_rng(devices=[]), torch.no_grad(), blaming(code, everything=True):
        model = copy.deepcopy(model).eval()
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        packed = (Rows.of(torch.tensor([[*side[0], *side[1]]])) for side in sides)
        whole = model.logits(model(*packed))[0].split([len(each) for each in sides[1]])
        source, target = (
            torch.nn.utils.rnn.pad_sequence([torch.tensor(each) for each in side], True, PADDING) for side in sides
        )
        search = model.begin(source)
        steps = [search.logits(target[:, i - 1, None] if i else None) for i in range(target.size(1))]
    for number, expected in enumerate(whole):
        found = torch.cat([step[number] for step in steps[: len(expected)]])
        if not torch.allclose(found, expected, rtol=1e-3, atol=1e-3):
            text = "decoding subword by subword gives other logits than training, which sees whole sentences"
            why = "a position must read no later one and no other sentence, and what it reads must be in the cache"
            raise InputError(f"{name_of(code)}: {text}; {why}")
