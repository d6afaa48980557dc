"""Each file of ideas/ on a tiny model, and what ideas do wrong."""

import dataclasses
import os
import signal

import numpy as np
import pytest
import torch

from transformer.decoding.precision import in_precision
from transformer.explore.page import explored
from transformer.export.ctranslate2 import to_ctranslate2
from transformer.export.float16 import to_float16
from transformer.export.marian import to_marian
from transformer.model import kernels
from transformer.model.built import check_idea
from transformer.model.config import ModelConfig
from transformer.model.flops import forward_flops, optimizer_flops
from transformer.model.idea import read_idea
from transformer.model.masks import Rows
from transformer.model.networks import network
from transformer.model.parameters import parameters
from transformer.package.config import read_package_config
from transformer.package.loading import load_package
from transformer.support.digest import ROOT
from transformer.support.files import InputError
from transformer.support.strict import load, plain
from transformer.support.tensors import read_tensors
from transformer.training.bfloat16_weights import Bfloat16Weights
from transformer.training.config import checkpoint_name
from transformer.training.loop import Trainer
from transformer.training.signals import Interrupted

CPU = torch.device("cpu")
IDEAS = sorted(path.stem for path in (ROOT / "ideas").glob("*.py"))
REPLACED = {"swiglu": "position_wise", "multi_query": "attention"}  # parts whose weights have the names of base's
SAME_LOSS = {"placebo", "muon"}  # of the first step
SAME_PARAMETERS = {"placebo", "muon", "gelu", "squared_relu"}
SAME_FLOPS = SAME_PARAMETERS | {"pre_norm", "rms_norm", "qk_norm"}
VOCABULARY = 40


@pytest.fixture
def architecture(run_config):
    base = run_config(N=2, d_ff=40).architecture
    return lambda idea: dataclasses.replace(base, idea=idea and read_idea(f"ideas/{idea}.py"))


def built(config):
    torch.manual_seed(1)
    model = network(config, VOCABULARY)
    return model, torch.rand(3)


def loss(model):
    rows = Rows.of(torch.tensor([[5, 6, 7, 1, 8, 1], [9, 4, 3, 12, 11, 1]]))
    return model.logits(model(rows, rows)).log_softmax(-1)[..., 7].sum()


@pytest.mark.parametrize("idea", IDEAS)
def test_an_idea_changes_the_loss_and_nothing_that_it_does_not_replace(architecture, idea):
    (model, later), (base, of_base) = built(architecture(idea)), built(architecture(None))
    assert torch.equal(later, of_base)
    before = base.state_dict()
    kept = [name for name in model.state_dict() if name in before and REPLACED.get(idea, "-") not in name]
    assert len(kept) > 10
    assert all(torch.equal(model.state_dict()[name], before[name]) for name in kept)
    same = torch.equal(loss(model.eval()), loss(base.eval()))
    assert same == (idea in SAME_LOSS)
    kernels_on, kernels.ON = loss(model), False
    try:
        torch.testing.assert_close(kernels_on, loss(model))
    finally:
        kernels.ON = True
    with torch.autocast("cpu", torch.bfloat16):
        in_bfloat16 = loss(model.train())
    in_bfloat16.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("idea", IDEAS)
def test_parameters_and_flops_are_those_of_the_built_model(architecture, idea):
    config, base, lengths = architecture(idea), architecture(None), np.array([[13, 27], [5, 9]])
    model, _ = built(config)
    assert parameters(config, VOCABULARY) == sum(each.numel() for each in model.parameters())
    assert (parameters(config, VOCABULARY) == parameters(base, VOCABULARY)) == (idea in SAME_PARAMETERS)
    for hypotheses in (1, 4):
        flops = [forward_flops(each, VOCABULARY, lengths, hypotheses) for each in (config, base)]
        assert (flops[0] == flops[1]) == (idea in SAME_FLOPS)
    assert (optimizer_flops(config, VOCABULARY) > 0) == (idea == "muon")
    check_idea(model)


def trained(run_config, encoded, folder, idea, stop=None):
    """A run that trains in a folder, where it may go on, to its end or to a step that a signal ends."""
    config = run_config(N=2, precision="bfloat16", idea=idea and read_idea(f"ideas/{idea}.py"))
    pairs = (encoded("train"), encoded("dev"))
    trainer = Trainer(config, VOCABULARY, *pairs, folder, CPU, micro_batch_tokens=48)
    trainer.train(reached=lambda step: os.kill(os.getpid(), signal.SIGTERM) if step == stop else None)
    return trainer


@pytest.mark.parametrize("idea", ["swiglu", "muon"])
def test_a_run_that_is_interrupted_ends_with_the_same_weights(run_config, encoded, tmp_path, idea):
    whole = trained(run_config, encoded, tmp_path / "whole", idea)
    with pytest.raises(Interrupted):
        trained(run_config, encoded, tmp_path / "resumed", idea, stop=5)
    resumed = trained(run_config, encoded, tmp_path / "resumed", idea)
    weights = [read_tensors(each.folder / checkpoint_name(12))[0] for each in (whole, resumed)]
    assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())
    assert whole.state.flops == resumed.state.flops > 12 * optimizer_flops(whole.config.architecture, VOCABULARY)


def test_a_placebo_trains_to_the_weights_of_base(run_config, encoded, tmp_path):
    placebo = trained(run_config, encoded, tmp_path / "placebo", "placebo")
    base = trained(run_config, encoded, tmp_path / "base", None)
    assert all(torch.equal(*pair) for pair in zip(placebo.model.parameters(), base.model.parameters(), strict=True))


@pytest.mark.parametrize("idea", IDEAS)
def test_a_package_holds_the_idea_and_runs_it_only_if_it_is_trusted(save, tmp_path, translations, text, idea):
    code = read_idea(f"ideas/{idea}.py")
    folder = save(N=2, d_ff=40, d_k=8, idea=code)
    assert (folder / "idea.py").read_text() == code
    with pytest.raises(InputError, match=r"has an idea, idea.py, which is Python code .* --trust-code"):
        load_package(folder, CPU)
    package = load_package(folder, CPU, trust_code=True)
    assert "idea idea.py" in (folder / "README.md").read_text()
    for write in (to_marian, to_ctranslate2):
        with pytest.raises(InputError, match="has an idea, which"):
            write(folder, tmp_path / "out")
    with pytest.raises(InputError, match="has an idea, which"):
        explored([(folder, read_package_config(folder))], [])
    to_float16(folder, tmp_path / "half")
    assert load_package(tmp_path / "half", CPU, trust_code=True)
    rows = Rows.of(torch.tensor([[5, 6, 7, 1], [9, 8, 3, 1]]))
    with torch.inference_mode():
        exact, lower = (
            each.logits(each(rows, rows)) for each in (package.model, in_precision(package.model, "float32"))
        )
    torch.testing.assert_close(lower[..., : exact.size(-1)], exact, atol=1e-4, rtol=1e-4)
    batched, alone = ([list(translations(package, text(3, 5), 3, tokens))] for tokens in (1, 500))
    assert [each.texts for each in batched[0]] == [each.texts for each in alone[0]]
    (folder / "idea.py").write_text("def change(model): ...")
    with pytest.raises(InputError, match=r"idea\.py: is not the code in config\.json"):
        read_package_config(folder)


@pytest.mark.parametrize("idea", ["swiglu", "pre_norm", "multi_query"])
def test_an_idea_can_be_compiled(architecture, idea):
    torch._dynamo.reset()
    model = network(dataclasses.replace(architecture(idea), N=1, P_drop=0.0), VOCABULARY)
    expected = loss(model)
    model.compile(backend="eager", fullgraph=True, dynamic=False)
    torch.testing.assert_close(loss(model), expected)


@pytest.fixture
def mine(tmp_path):
    """Reads an idea of some lines; those of `change` are given apart."""

    def read(*lines, change=()):
        body = ["def change(model):", *(f"    {line}" for line in change)] if change else []
        (tmp_path / "mine.py").write_text("\n".join(["import torch", "from torch import nn", *lines, *body]))
        return read_idea(str(tmp_path / "mine.py"))

    return read


def test_comments_docstrings_and_layout_are_no_part_of_an_idea(mine):
    one = mine(change=["model.x = [1, 2]"])
    assert mine('"""What."""', "# why", change=['"""Do."""', "", "model.x = [  # so", "1, 2]"]) == one
    assert mine(change=["model.x = [1, 3]"]) != one


def every(line):
    """The lines of `change` that do something to every layer."""
    return ["for layer in [*model.encoder, *model.decoder]:", f"    {line}"]


def module(forward):
    """The lines of a module with a linear map."""
    lines = ["def __init__(self):", "    super().__init__()", "    self.inner = nn.Linear(16, 16)"]
    lines += ["def forward(self, x):", f"    return {forward}"]
    return ["class Module(nn.Module):", *(f"    {line}" for line in lines)]


USE = every("layer.position_wise = Module()")
WRONG = [  # lines, those of `change`, and what is said of them
    (["def change(model)"], [], r"mine\.py, line 3: not Python: expected ':'"),
    (["x = 1"], [], r"mine\.py: defines neither change\(model\) nor optimizer\(model\)"),
    (["from helper import f"], ["..."], r"mine\.py, line 3: imports helper, which is no installed package"),
    (["from . import f"], ["..."], r"line 3: imports \., which"),
    (["import workflow.dag"], ["..."], r"line 3: imports workflow\.dag, which"),
    (["x = y"], ["..."], r"mine\.py, line 3 \(x = y\): NameError: name 'y' is not defined"),
    ([], ["return model"], "returns a value, which has no effect"),
    ([], ["model.x.y = 1"], r"mine\.py, line 4 \(model\.x\.y = 1\): AttributeError"),
    ([], ["model.projection = nn.Linear(16, 40)"], "changes the softmax, which an idea cannot"),
    ([], ["model.logits = nn.Linear(16, 40)"], "changes the softmax"),
    ([], ["model.embedding = nn.Parameter(torch.zeros(40, 8))"], "changes the softmax"),
    ([], every("layer.self_attention.heads = nn.Linear(16, 48)"), "heads is a method of SelfAttention"),
    ([], every("layer.positionwise = nn.Linear(16, 16)"), r"no gradient reaches encoder\.0\.positionwise"),
    (
        module("self.inner(x)[:, :, :3]"),
        USE,
        r"mine\.py: RuntimeError: Attempting to broadcast",
    ),
    (module("self.inner(x) if x.sum() > 0 else x"), USE, r"line 8 .*FLOPs are counted without values"),
    (module("self.inner(x) if torch.rand(()) < 0.5 else x"), USE, r"line 8 .*FLOPs are counted without values"),
    (module("self.inner(x.flip(1))"), USE, "a position must read no later one"),
    (
        module("self.inner(x) * self.x"),
        [*every("layer.position_wise = Module()"), "    layer.position_wise.x = torch.rand(16)"],
        "a model with the saved weights gives other logits",
    ),
    (["def optimizer(model): return 1"], [], r"returns int, and not a torch\.optim\.Optimizer"),
    (["def optimizer(model): return torch.optim.SGD([model.embedding], lr=1.0)"], [], r"leaves out encoder\.0"),
    (["def optimizer(model): return torch.optim.LBFGS(model.parameters())"], [], r"LBFGS\.step\(\) missing"),
]


@pytest.mark.parametrize(("lines", "change", "told"), WRONG)
def test_what_an_idea_does_wrong_is_told_before_it_trains(architecture, mine, lines, change, told):
    with pytest.raises(InputError, match=told):
        check_idea(network(dataclasses.replace(architecture(None), idea=mine(*lines, change=change)), VOCABULARY))


def test_the_code_in_a_config_is_checked(architecture):
    values = plain(architecture(None)) | {"idea": "ideas/swiglu.py"}
    with pytest.raises(InputError, match="idea: the idea in a config: defines neither"):
        load(ModelConfig, values)


DYT = ["class Norm(nn.LayerNorm):", "    def forward(self, x): return self.weight * x.tanh() + self.bias"]
TANH = ["class Linear(nn.Linear):", "    def forward(self, x): return super().forward(x).tanh()"]
TRAPS = {  # lines, those of `change`, and whether the output stays that of base
    "a LayerNorm": (DYT, every("layer.residuals[0].norm = Norm(16)"), False),
    "a LayerNorm without bias": ([], every("layer.residuals[0].norm = nn.LayerNorm(16, 1e-6, bias=False)"), True),
    "a linear map": (TANH, every("layer.self_attention.output = Linear(16, 16)"), False),
    "a linear map without bias": ([], every("layer.position_wise.inner = nn.Linear(16, 32, bias=False)"), False),
    "a parametrised map": ([], every("torch.nn.utils.parametrizations.weight_norm(layer.position_wise.inner)"), True),
    "frozen weights": ([], every("layer.position_wise.inner.requires_grad_(False)"), True),
    "a shallow decoder": ([], ["model.decoder = model.decoder[:1]"], False),
    "shared layers": ([], ["model.encoder[1], model.decoder[1] = model.encoder[0], model.decoder[0]"], False),
}


@pytest.mark.parametrize(("lines", "change", "same"), TRAPS.values(), ids=TRAPS)
def test_kernels_and_decoding_compute_what_an_idea_defines(save, mine, lines, change, same):
    model, base = (
        load_package(save(N=2, idea=idea), CPU, trust_code=True).model for idea in (mine(*lines, change=change), None)
    )
    rows = Rows.of(torch.tensor([[5, 6, 7, 1], [9, 8, 3, 1]]))
    with torch.inference_mode():
        models = (model, in_precision(model, "float32"), base)
        exact, lower, other = (each.logits(each(rows, rows))[..., :VOCABULARY] for each in models)
    torch.testing.assert_close(lower, exact, atol=1e-4, rtol=1e-4)
    assert torch.allclose(exact, other, atol=1e-5) == same
    check_idea(model)
    copied = Bfloat16Weights(model).copies
    assert copied
    assert all(model.get_parameter(name).requires_grad for name in copied)
