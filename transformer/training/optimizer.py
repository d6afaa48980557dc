"""The optimizer and its learning rate (section 5.3)."""

import io
from collections.abc import Iterable, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from transformer.model import kernels
from transformer.training import fused


def learning_rate(step: int, d_model: int, warmup: int) -> float:
    """Equation 3: d_model^-0.5 min(step^-0.5, step warmup^-1.5). Steps are counted from 1."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


class Adam:
    """Adam (Kingma and Ba 2015). Its state has PyTorch's names: `exp_avg` is m and `exp_avg_sq` is v."""

    def __init__(self, parameters: Iterable[nn.Parameter], beta1: float, beta2: float, epsilon: float):
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.state = {
            parameter: {
                "step": torch.zeros((), device=parameter.device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
            for parameter in parameters
        }

    def saved(self, model: nn.Module) -> dict[str, Tensor]:
        """Its state, by the names of the parameters of `model`."""
        named = {name: self.state[parameter] for name, parameter in model.named_parameters()}
        return {f"adam.{key}.{name}": tensor for name, state in named.items() for key, tensor in state.items()}

    def load(self, tensors: Mapping[str, Tensor], model: nn.Module) -> None:
        """Load what `saved` returned."""
        for name, parameter in model.named_parameters():
            for key, tensor in self.state[parameter].items():
                tensor.copy_(tensors[f"adam.{key}.{name}"])

    @torch.no_grad()
    def step(self, rate: float | torch.Tensor) -> None:
        """Update the parameters that have gradients, at this learning rate."""
        updated = [(p, p.grad, state) for p, state in self.state.items() if p.grad is not None]
        if kernels.ON:
            fused.adam(updated, rate, self.beta1, self.beta2, self.epsilon)
            return
        for parameter, gradient, state in updated:
            t, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
            t += 1
            m.copy_(self.beta1 * m + (1 - self.beta1) * gradient)
            v.copy_(self.beta2 * v + (1 - self.beta2) * gradient**2)
            unbiased_m, unbiased_v = m / (1 - self.beta1**t), v / (1 - self.beta2**t)
            parameter.sub_(rate * unbiased_m / (unbiased_v.sqrt() + self.epsilon))


class OwnOptimizer:
    """The optimizer of an idea. The learning rate of each of its groups is a factor of that of equation 3."""

    def __init__(self, optimizer: torch.optim.Optimizer):
        self.optimizer = optimizer
        self.factors = [group["lr"] for group in optimizer.param_groups]

    def saved(self, _: nn.Module) -> dict[str, Tensor]:
        """Its state, whatever it holds, as bytes."""
        written = io.BytesIO()
        torch.save(self.optimizer.state_dict(), written)
        return {"optimizer": torch.from_numpy(np.frombuffer(written.getvalue(), np.uint8).copy())}

    def load(self, tensors: Mapping[str, Tensor], model: nn.Module) -> None:
        """Load what `saved` returned, as it is: PyTorch's own `load_state_dict` would change types."""
        device = next(model.parameters()).device
        kept = torch.load(io.BytesIO(tensors["optimizer"].numpy().tobytes()), device, weights_only=True)
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        for number, state in kept["state"].items():
            self.optimizer.state[parameters[number]] = state
        for group, before in zip(self.optimizer.param_groups, kept["param_groups"], strict=True):
            group |= {key: value for key, value in before.items() if key != "params"}

    def step(self, rate: float | torch.Tensor) -> None:
        """Update the parameters that have gradients."""
        for group, factor in zip(self.optimizer.param_groups, self.factors, strict=True):
            group["lr"] = factor * float(rate)
        self.optimizer.step()
