"""One update of the weights: forward pass, loss, backward pass, Adam (section 5.3)."""

import contextlib
import sys
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from transformer.model.built import own_optimizer
from transformer.model.network import Network
from transformer.support.device import can_compile, compile_in_place, first_cause, out_of_memory
from transformer.text.batches import Batch
from transformer.training.bfloat16_weights import Bfloat16Weights
from transformer.training.config import TrainingConfig
from transformer.training.cuda_graphs import Recorder, gradients_of
from transformer.training.distributed import World, replicate
from transformer.training.loss import batch_loss
from transformer.training.optimizer import Adam, OwnOptimizer


class _Loss(nn.Module):
    """`batch_loss` as a module: DistributedDataParallel replicates a module that holds the whole forward pass."""

    def __init__(self, model: Network):
        super().__init__()
        self.model = model

    def forward(self, batch: Batch, *given: Any) -> Tensor:
        return batch_loss(self.model, batch, *given)


class Updater:
    """Updates the weights of a model, and sums the losses of its updates.

    On a GPU, PyTorch compiles the model and the loss, and from the third batch of a shape on, the update of a single
    batch is one CUDA graph. Several batches, several processes, or an idea's own optimizer are updated without graphs.
    """

    def __init__(self, model: Network, training: TrainingConfig, device: torch.device, world: World):
        self.model, self.eps_ls, self.device, self.world = model, training.eps_ls, device, world
        self.precision = "float32"  # of matrix products; the weights stay in float32
        self.compiled = device.type == "cuda" and can_compile()  # on a CPU, compiled code is slower (docs/speed.md)
        if self.compiled:
            compile_in_place(model, model.config.d_model)
        self.replica: nn.Module = _Loss(model)
        own = own_optimizer(model) if model.config.idea else None
        self.optimizer: Adam | OwnOptimizer = (
            OwnOptimizer(own) if own else Adam(model.parameters(), training.beta1, training.beta2, training.epsilon)
        )
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=device)
        self.weights: Bfloat16Weights | None = None
        self.recorder: Recorder | None = None
        if self.compiled and world.size == 1 and not model.host_syncs and not own:
            self.recorder = Recorder(lambda batch, *given: self.update([batch], *given), model.parameters(), device)

    def __call__(self, batches: list[Batch], share: float, rate: float) -> None:
        """Update the weights from the summed gradients of some batches, times `share`, at the learning rate `rate`."""
        if self.world.size > 1 and not isinstance(self.replica, DistributedDataParallel):
            self.replica = replicate(self.replica, self.autocast(), batches[0], self.eps_ls, share, self.compiled)
        if self.recorder and len(batches) == 1:
            self.recorder(batches[0], share, rate)
        else:
            self.update(batches, share, rate)
            if self.recorder:
                self.recorder.gradients = []

    @property
    def model_compiled(self) -> bool:
        """Whether PyTorch compiles the model, and not only the loss, as with LSTMs."""
        return self.model._compiled_call_impl is not None

    def update(self, batches: list[Batch], share: float | Tensor, rate: float | Tensor) -> None:
        """Update the weights without a CUDA graph. The gradients stay for `gradients`."""
        self.model.zero_grad()
        weights = (
            self._bfloat16_weights() if len(batches) == 1 else None
        )  # sums of several gradients would need float32
        for i, batch in enumerate(batches, start=1):
            with self._summing(last=i == len(batches)):
                loss = self.loss(batch, share, weights)
                loss.backward()
            self.loss_sum += loss.detach()
            del loss  # and its logits, before the next batch makes its own
        if weights:
            weights.give_gradients()
        self.optimizer.step(rate)

    def autocast(self) -> torch.autocast:
        """The context that sets the precision of matrix products."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16")

    def loss(self, batch: Batch, share: float | Tensor = 1.0, weights: Bfloat16Weights | None = None) -> Tensor:
        """The summed loss of a batch."""
        with self.autocast():
            return self.replica(batch, self.eps_ls, share, self.compiled, weights)

    def perplexity_loss(self, batch: Batch) -> float:
        """The summed loss of a batch without label smoothing. Nothing is compiled for it."""
        with torch.no_grad(), self.autocast():
            return batch_loss(self.model, batch, 0.0).item()

    def gradients(self) -> list[Tensor]:
        """The gradients of the last update."""
        if self.recorder and self.recorder.gradients:
            return self.recorder.gradients
        return gradients_of(self.model.parameters())

    def try_compiler(self, batch: Batch, label: str) -> None:
        """Compile the passes for a batch. If that fails, print one line; the model then runs uncompiled.

        The random state stays as it was.
        """
        try:
            with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []):
                self.loss(batch, weights=self._bfloat16_weights()).backward()
        except Exception as error:
            if out_of_memory(error):
                raise
            self.compiled, self.recorder, self.model._compiled_call_impl = False, None, None
            why = first_cause(error)
            print(f"{label}: PyTorch cannot compile the model, so it trains slower ({why})", file=sys.stderr)

    def _bfloat16_weights(self) -> Bfloat16Weights | None:
        """The weights as they are now, in bfloat16, or None where casts are not slow or processes share gradients."""
        if self.precision != "bfloat16" or self.device.type != "cuda" or self.world.size > 1:
            return None
        self.weights = self.weights or Bfloat16Weights(self.model)
        self.weights.refresh()
        return self.weights

    def _summing(self, last: bool) -> contextlib.AbstractContextManager[None]:
        """The context of a batch's passes. Processes exchange gradients in the step's last batch only."""
        if not last and isinstance(self.replica, DistributedDataParallel):
            return self.replica.no_sync()
        return contextlib.nullcontext()
