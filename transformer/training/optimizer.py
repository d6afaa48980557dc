"""The optimizer and its learning rate (section 5.3)."""

from collections.abc import Iterable

import torch
from torch import nn

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
