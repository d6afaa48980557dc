"""The cost of a run: parameters, FLOPs, bytes, and hours on several devices."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from transformer.model.flops import forward_flops, optimizer_flops
from transformer.model.parameters import parameters
from transformer.training.config import RunConfig
from transformer.training.passes import MICRO_BATCH_TOKENS, PROBABILITIES
from workflow.experiment.tasks import Task

LENGTH = 28  # mean number of subwords in a sentence
TREE = 2.1  # subwords of a linearised tree per subword of its sentence, in NLTK's sample of the Wall Street Journal
SHORTEST_STEP = 0.0033  # seconds of a training step on a GPU, however small the model is: `multi30k`'s base on an H100
PREFIXES = " kMGTPEZYRQ"  # of the SI
SENTENCES = 3000  # sentences of dev and of test; newstest2013 and newstest2014 have about as many
STATE_BYTES = 24  # bytes per parameter while a run trains: two copies of its state


@dataclass(frozen=True)
class Device:
    """A number of processors, the peak FLOP/s of each, and the share of the peak that training reaches."""

    count: int
    peak: float
    precision: str
    efficiency: Mapping[int, float]  # by d_model, ascending
    source: str  # where the efficiency is from
    decoding: float = 0.1  # the share of training's FLOP/s that decoding reaches
    shortest_step: float = SHORTEST_STEP

    def flops(self, d_model: int) -> float:
        """The FLOP/s reached at a width. Efficiency is interpolated over log d_model, and constant beyond the ends."""
        share = np.interp(math.log(d_model), np.log(list(self.efficiency)), list(self.efficiency.values()))
        return float(share) * self.count * self.peak

    def step_seconds(self, flops: float, d_model: int) -> float:
        """The seconds of a training step with these FLOPs."""
        return max(flops / self.flops(d_model), self.shortest_step)

    def __str__(self) -> str:
        return f"{self.count} x {si(self.peak, 'FLOP/s')}, {self.precision}"

    def reached(self) -> str:
        """The efficiency in words, with its source."""
        shares = ", ".join(f"{100 * share:.0f} % at d_model {width}" for width, share in self.efficiency.items())
        return f"reaches {shares} ({self.source}). Decoding reaches {100 * self.decoding:.0f} % of that."


STEP_TIMES = "the paper's step times, 0.4 s for base and 1.0 s for big (section 5.2)"

PUBLISHED = (
    "from the tokens/s published for big in LightSeq's documentation (22 %) and NVIDIA's DeepLearningExamples (33 %); "
    "we assume the lower one for base"
)
H100 = (
    "measured with this code: 34 ms for a step of base and 78 ms for big; base decodes 24,000 subwords/s in float32, "
    "512 sentences at once"
)
LIKE_H100 = "assumed: as much as the H100, which has the same processors and slower memory"
# In NVIDIA's DeepLearningExamples, each of eight A100s reaches 84 % of a single one, but with 10,240 tokens each. The
# paper's batch of 25,000 leaves 3,125 for each.
SHARED = "assumed: half of one H100's, because eight share the batch of a step"
MEASURED = "training in {}, measured with this code on an AMD EPYC; the peak was measured now, beside what runs here"
PAPER = {512: 9.54e12 / (0.4 * 8 * 10.6e12), 1024: 32.3e12 / (1.0 * 8 * 10.6e12)}  # FLOPs per step, 37,000 subwords
CPU_SHARE = {  # what training in each precision reaches of the peak in float32, which is what `plan` measures
    "float32": ({128: 0.53, 512: 0.68, 1024: 0.65}, MEASURED.format("float32")),
    "bfloat16": ({128: 0.66, 512: 1.19, 1024: 1.25}, MEASURED.format("bfloat16")),
}
DEVICES = {
    "8xP100": Device(8, 10.6e12, "float32", PAPER, STEP_TIMES),
    "A100": Device(1, 312e12, "bfloat16", {512: 0.22, 1024: 0.33}, PUBLISHED),
    "H100": Device(1, 989e12, "bfloat16", {512: 0.285, 1024: 0.417}, H100, 0.032),
    "H200": Device(1, 989e12, "bfloat16", {512: 0.285, 1024: 0.417}, LIKE_H100, 0.032),
    "8xH100": Device(8, 989e12, "bfloat16", {512: 0.142, 1024: 0.208}, SHARED, 0.032),
    "cpu": Device(1, math.nan, "float32", *CPU_SHARE["bfloat16"], decoding=0.8, shortest_step=0),
}
# A core of a cluster's node, as fast as an AMD EPYC's (docs/speed.md).
CORE = replace(DEVICES["cpu"], peak=1e11, efficiency=CPU_SHARE["float32"][0])


@dataclass(frozen=True)
class Cost:
    """The cost of one run."""

    parameters: int
    step_flops: float
    tokens: int  # source and target tokens of all steps
    disk: int  # bytes of the checkpoints to average, and of the packages
    memory: int  # bytes of weights, gradients, Adam's moments and the activations of a micro-batch, in float32
    memory_bfloat16: int  # the same on a GPU that trains in bfloat16
    hours: tuple[float, ...]  # on each device


@dataclass(frozen=True)
class Request:
    """The resources that a training job requests from a cluster."""

    minutes: int
    megabytes: int


def step_flops(run: RunConfig, vocabulary: int) -> float:
    """FLOPs of a step's matrix products, for sentences of LENGTH subwords, or of longest_pair if that is less."""
    length = min(LENGTH, run.training.longest_pair)
    pairs = run.training.batch_tokens / length
    passes = 3 * pairs * forward_flops(run.architecture, vocabulary, np.full((1, 2), length))
    return passes + optimizer_flops(run.architecture, vocabulary)


def activations(run: RunConfig, vocabulary: int, fused: bool = False) -> int:
    """Bytes that a GPU's micro-batch of the longest pairs keeps from the forward to the backward pass, in float32.

    One layer counts twice, for the temporary results of its backward pass. With `fused`, as on a GPU that trains in
    bfloat16: attention does not keep its weights, and the gradient of the logits takes their place. This holds only for
    Transformers with dot-product attention; for others we know only the bytes in float32.
    """
    sizes, training = run.architecture, run.training
    tokens, length = min(MICRO_BATCH_TOKENS["cuda"], training.batch_tokens), training.longest_pair
    fused = fused and sizes.network == "transformer" and sizes.attention != "additive"
    logits = 2 * tokens * vocabulary + min(tokens * vocabulary, max(PROBABILITIES.values()))
    if sizes.network == "recurrent":
        # An LSTM keeps four gates, the cell, the output and its input after dropout. Additive attention keeps the
        # output of tanh, and needs as much again for temporary results.
        return 4 * (tokens * sizes.d_model * ((sizes.N + 1) * 2 * 9 + 2 * length) + logits)
    if sizes.network == "convolutional":
        # A convolution keeps a dropout mask, what it reads and two halves of its output. Attention keeps four vectors,
        # and its weights before and after normalisation.
        return 4 * (tokens * (sizes.N + 1) * (sizes.d_model * (2 * 6 + 4) + 2 * length) + logits)
    parameters = sizes.attention_over_parameters
    inner = sizes.d_ff
    if parameters is not None:
        inner = parameters.h_p * (parameters.d_pk + parameters.d_pv + (0 if fused else 2 * parameters.n_p))
    # Three attentions keep queries, keys, values, their output, and the weights before and after normalisation.
    # Additive attention also keeps the hidden layer of each score. The five sub-layers of both sides keep a dropout
    # mask and the input and the output of a LayerNorm. Dropout of attention's weights keeps six more numbers for each.
    hidden = sizes.d_k if sizes.attention == "additive" else 0
    dropped = 6 if sizes.attention_dropout else 0
    weights = 0 if fused else (2 + hidden + dropped) * length
    layer = 3 * sizes.h * (2 * (sizes.d_k + sizes.d_v) + weights) + 2 * inner + 5 * 3 * sizes.d_model
    if fused:
        return 2 * tokens * ((sizes.N + 1) * layer + vocabulary)
    return 4 * (tokens * (sizes.N + 1) * layer + logits)


def cost(run: RunConfig, vocabulary: int, table3_average: int, devices: Iterable[Device]) -> Cost:
    """The cost of a run, with its hours on each device."""
    training, count = run.training, parameters(run.architecture, vocabulary)
    flops = step_flops(run, vocabulary)
    return Cost(
        parameters=count,
        step_flops=flops,
        tokens=2 * training.steps * training.batch_tokens,
        disk=(training.average + len({training.average, table3_average})) * 4 * count,
        memory=16 * count + activations(run, vocabulary),
        memory_bfloat16=16 * count + activations(run, vocabulary, fused=True),
        hours=tuple(training.steps * device.step_seconds(flops, run.architecture.d_model) / 3600 for device in devices),
    )


def decoding_flops(run: RunConfig, task: Task, scored: bool) -> float:
    """FLOPs to decode a sentence by beam search and, if it is scored, of the forward pass for its perplexity."""
    source = min(LENGTH, run.training.longest_pair)
    lengths = np.array([[source, source * (TREE if task.kind == "parsing" else 1)]])
    sizes = (run.architecture, task.vocabulary, lengths)
    return forward_flops(*sizes, task.decoding.beam) + scored * forward_flops(*sizes)


def decoding_hours(run: RunConfig, flops: float, device: Device) -> float:
    """The hours that decoding takes for the given FLOPs."""
    return flops / (device.decoding * device.flops(run.architecture.d_model)) / 3600


def request(run: RunConfig, vocabulary: int, device: Device) -> Request:
    """What a training requests: 1.5 times its hours on a device plus half an hour, 4/3 of its memory plus 2 GB."""
    planned = cost(run, vocabulary, 1, [device])
    return Request(30 + math.ceil(90 * planned.hours[0]), 2000 + math.ceil(planned.memory * 4 / 3 / 1e6))


def si(value: float, unit: str = "") -> str:
    """A number with three significant digits and an SI prefix, such as 1.30 GB."""
    power = 0
    while value >= 999.5 and power < len(PREFIXES) - 1:
        value, power = value / 1000, power + 1
    return f"{value:#.3g}".rstrip(".") + f" {PREFIXES[power].strip()}{unit}".rstrip()
