"""The optimizer and its learning rate (section 5.3)."""

from collections.abc import Iterable

import torch
from torch import nn
from torch.optim.adam import adam


def learning_rate(step: int, d_model: int, warmup: int) -> float:
    """Equation 3: d_model^-0.5 min(step^-0.5, step warmup^-1.5). Steps are counted from 1."""
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


class Adam:
    """PyTorch's fused Adam. Its class `torch.optim.Adam` loads PyTorch's compiler, which takes a second."""

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

    @torch.no_grad()
    def step(self, rate: float | torch.Tensor) -> None:
        """Update the parameters that have gradients, at this learning rate."""
        updated = [(p, p.grad, state) for p, state in self.state.items() if p.grad is not None]
        adam(
            [parameter for parameter, *_ in updated],
            [gradient for _, gradient, _ in updated],
            [state["exp_avg"] for *_, state in updated],
            [state["exp_avg_sq"] for *_, state in updated],
            [],
            [state["step"] for *_, state in updated],
            fused=True,
            amsgrad=False,
            beta1=self.beta1,
            beta2=self.beta2,
            lr=rate,
            weight_decay=0.0,
            eps=self.epsilon,
            maximize=False,
        )
