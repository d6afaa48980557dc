"""bfloat16 copies of weights, so that a GPU does not cast each weight, and each gradient, by itself."""

from typing import cast

import torch
from torch import Tensor, nn
from torch.func import functional_call

from transformer.model.masks import Rows
from transformer.model.network import Network


class Bfloat16Weights:
    """bfloat16 copies of the weights and biases of all linear maps of a model. The weights stay in float32."""

    def __init__(self, model: Network):
        self.model = model
        linear = {each for module in model.modules() if type(module) is nn.Linear for each in module.parameters()}
        self.exact = {name: each for name, each in model.named_parameters() if each in linear and each.requires_grad}
        self.copies = {name: each.detach().bfloat16().requires_grad_() for name, each in self.exact.items()}
        self.gradients = [torch.zeros_like(each) for each in self.exact.values()]

    @torch.no_grad()
    def refresh(self) -> None:
        """Copy the weights as they are now, and forget the gradients of earlier copies."""
        for each in self.copies.values():
            each.grad = None
        torch._foreach_copy_(list(self.copies.values()), list(self.exact.values()))

    def __call__(self, source: Rows, target: Rows) -> Tensor:
        """The model's output, computed with the copies."""
        return functional_call(self.model, self.copies, (source, target))

    @torch.no_grad()
    def give_gradients(self) -> None:
        """Turn the gradients of the copies into gradients of the weights, in float32."""
        torch._foreach_copy_(self.gradients, cast(list[Tensor], [each.grad for each in self.copies.values()]))
        for weight, gradient in zip(self.exact.values(), self.gradients, strict=True):
            weight.grad = gradient
