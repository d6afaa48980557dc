"""Muon for the matrices between embedding and logits, and Adam for all else.

Source: Jordan et al. 2024, Muon: An optimizer for hidden layers in neural networks (kellerjordan.github.io/posts/muon),
with steps as long as Adam's: Liu et al. 2025, Muon is Scalable for LLM Training (arXiv 2502.16982).
"""

import torch


def orthogonal(x):
    """The matrix with all singular values near 1, by five Newton-Schulz iterations."""
    wide = x / (x.norm() + 1e-7) if len(x) <= x.size(1) else x.T / (x.norm() + 1e-7)
    for _ in range(5):
        square = wide @ wide.T
        wide = 3.4445 * wide + (-4.775 * square + 2.0315 * square @ square) @ wide
    return wide if len(x) <= x.size(1) else wide.T


class Muon(torch.optim.Optimizer):
    """Momentum, made orthogonal for matrices and divided as in Adam for all else."""

    @torch.no_grad()
    def step(self):
        """Update the parameters."""
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["step"], m = state.get("step", 0) + 1, state.setdefault("m", torch.zeros_like(p))
                if group["matrices"]:
                    m.mul_(0.95).add_(p.grad)
                    p.sub_(group["lr"] * 0.2 * max(p.shape) ** 0.5 * orthogonal(p.grad + 0.95 * m))
                else:
                    v = state.setdefault("v", torch.zeros_like(p))
                    m.lerp_(p.grad, 0.1), v.lerp_(p.grad.square(), 0.02)
                    unbiased_m, unbiased_v = m / (1 - 0.9 ** state["step"]), v / (1 - 0.98 ** state["step"])
                    p.sub_(group["lr"] * unbiased_m / (unbiased_v.sqrt() + 1e-9))


def optimizer(model):
    """The optimizer; its learning rates are factors of the schedule's (equation 3)."""
    named = [*model.named_parameters()]
    matrices = [p for name, p in named if p.ndim == 2 and name.endswith("weight")]
    others = [p for name, p in named if not (p.ndim == 2 and name.endswith("weight"))]
    return Muon([{"params": matrices, "matrices": True}, {"params": others, "matrices": False}], {"lr": 1.0})
