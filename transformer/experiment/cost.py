"""What a run takes: parameters, FLOPs, bytes, and hours on several devices."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from transformer.experiment.config import Task
from transformer.model.flops import forward_flops
from transformer.model.parameters import parameters
from transformer.training.config import RunConfig
from transformer.training.passes import MICRO_BATCH_TOKENS, ROWS

LENGTH = 28  # subwords of a sentence, on average
TREE = 2.1  # subwords of a linearised tree for each of its sentence, in NLTK's sample of the Wall Street Journal
SENTENCES = 3000  # of dev, and of test, as in newstest2013 and newstest2014
STATE_BYTES = 24  # of a parameter, while its run trains: its state twice


@dataclass(frozen=True)
class Device:
    """So many processors, the peak FLOP/s of one, and which share of it training reaches."""

    count: int
    peak: float
    precision: str
    efficiency: Mapping[int, float]  # by d_model, ascending
    source: str  # of the efficiency
    decoding: float = 0.1  # share of training's FLOP/s that decoding reaches

    def flops(self, d_model: int) -> float:
        """FLOP/s reached at a width: the efficiency interpolated over log d_model, beyond the ends as at the ends."""
        share = np.interp(math.log(d_model), np.log(list(self.efficiency)), list(self.efficiency.values()))
        return float(share) * self.count * self.peak

    def __str__(self) -> str:
        return f"{self.count} x {si(self.peak, 'FLOP/s')}, {self.precision}"

    def reached(self) -> str:
        """The efficiency in words, and how it is known."""
        shares = ", ".join(f"{100 * share:.0f} % at d_model {width}" for width, share in self.efficiency.items())
        return f"reaches {shares} ({self.source}); in decoding {100 * self.decoding:.0f} % of that."


STEP_TIMES = "the paper's step times, 0.4 s for base and 1.0 s for big (section 5.2)"

PUBLISHED = (
    "from the tokens/s published for big, fairseq's in LightSeq's documentation (22 %) and NVIDIA's in "
    "DeepLearningExamples (33 %); the lower is assumed for base"
)
ASSUMED = "assumed, not measured: a little below the A100's, because memory has sped up less than matrix products"
SHARED = (
    "assumed, not measured: half of one H100's, because eight share a step's batch; NVIDIA's DeepLearningExamples "
    "reach 84 % of one A100's on eight, but with 10,240 tokens on each, where the paper's 25,000 leave 3,125"
)
MEASURED = "measured with this code on one thread of an AMD EPYC"
PAPER = {512: 9.54e12 / (0.4 * 8 * 10.6e12), 1024: 32.3e12 / (1.0 * 8 * 10.6e12)}  # FLOPs a step of 37,000 subwords
CPUS = {  # by precision; `plan` measures the peak
    "float32": Device(1, math.nan, "float32", {128: 0.53, 512: 0.68, 1024: 0.65}, MEASURED, 0.8),
    "bfloat16": Device(1, math.nan, "bfloat16", {128: 0.31, 512: 0.56, 1024: 0.59}, MEASURED, 0.8),
}
DEVICES = {
    "8xP100": Device(8, 10.6e12, "float32", PAPER, STEP_TIMES),
    "A100": Device(1, 312e12, "bfloat16", {512: 0.22, 1024: 0.33}, PUBLISHED),
    "H100": Device(1, 989e12, "bfloat16", {512: 0.20, 1024: 0.30}, ASSUMED),
    "H200": Device(1, 989e12, "bfloat16", {512: 0.20, 1024: 0.30}, ASSUMED),
    "8xH100": Device(8, 989e12, "bfloat16", {512: 0.10, 1024: 0.15}, SHARED),
    "cpu": CPUS["bfloat16"],
}


@dataclass(frozen=True)
class Cost:
    """What one run takes."""

    parameters: int
    step_flops: float
    tokens: int  # source and target, of all steps
    disk: int  # bytes of the checkpoints that are averaged and of a package for each number of them
    memory: int  # bytes of weights, gradients, Adam's means and what a micro-batch keeps
    hours: tuple[float, ...]  # on each device


@dataclass(frozen=True)
class Request:
    """What the job of a training asks a cluster for."""

    minutes: int
    megabytes: int


def step_flops(run: RunConfig, vocabulary: int) -> float:
    """FLOPs of the matrix products of a step, in sentences of LENGTH subwords, or longest_pair where that is less."""
    length = min(LENGTH, run.training.longest_pair)
    pairs = run.training.batch_tokens / length
    return 3 * pairs * forward_flops(run.architecture, vocabulary, np.full((1, 2), length))


def activations(run: RunConfig, vocabulary: int) -> int:
    """Bytes of what a GPU's micro-batch of the longest pairs keeps from forward to backward pass, in float32.

    Counted a subword and side, those of one layer once more for what its backward pass computes on the way.
    """
    sizes, training = run.architecture, run.training
    tokens, length = min(MICRO_BATCH_TOKENS["cuda"], training.batch_tokens), training.longest_pair
    logits = (2 * tokens + min(tokens, max(ROWS.values()))) * vocabulary
    if sizes.network == "recurrent":
        # An LSTM keeps four gates, cell, output and what dropout makes of its input; additive attention what its tanh
        # gives, and as much on the way.
        return 4 * (tokens * sizes.d_model * ((sizes.N + 1) * 2 * 9 + 2 * length) + logits)
    parameters = sizes.attention_over_parameters
    inner = sizes.d_ff
    if parameters is not None:
        inner = parameters.h_p * (parameters.d_pk + parameters.d_pv + 2 * parameters.n_p)
    # Three attentions keep queries, keys, values, their output, and weights before and after normalisation, additive
    # ones the hidden layer of each score; five sub-layers of both sides a dropout mask and a LayerNorm's input and
    # output.
    hidden = sizes.d_k if sizes.attention == "additive" else 0
    attention = 3 * sizes.h * (2 * (sizes.d_k + sizes.d_v) + (2 + hidden) * length)
    layer = attention + 2 * inner + 5 * 3 * sizes.d_model
    return 4 * (tokens * (sizes.N + 1) * layer + logits)


def cost(run: RunConfig, vocabulary: int, table3_average: int, devices: Iterable[Device]) -> Cost:
    """What a run takes on each of some devices."""
    training, count = run.training, parameters(run.architecture, vocabulary)
    flops = step_flops(run, vocabulary)
    return Cost(
        parameters=count,
        step_flops=flops,
        tokens=2 * training.steps * training.batch_tokens,
        disk=(training.average + len({training.average, table3_average})) * 4 * count,
        memory=16 * count + activations(run, vocabulary),
        hours=tuple(training.steps * flops / device.flops(run.architecture.d_model) / 3600 for device in devices),
    )


def decoding_flops(run: RunConfig, task: Task, scored: bool) -> float:
    """FLOPs of the beam search for a sentence, and of the forward pass for its perplexity where it is scored."""
    source = min(LENGTH, run.training.longest_pair)
    lengths = np.array([[source, source * (TREE if task.kind == "parsing" else 1)]])
    sizes = (run.architecture, task.vocabulary, lengths)
    return forward_flops(*sizes, task.decoding.beam) + scored * forward_flops(*sizes)


def decoding_hours(run: RunConfig, flops: float, device: Device) -> float:
    """Hours of so many FLOPs of decoding."""
    return flops / (device.decoding * device.flops(run.architecture.d_model)) / 3600


def request(run: RunConfig, vocabulary: int) -> Request:
    """Half as many hours again as an A100 takes, and half an hour; a third more memory than `cost` says, and 2 GB."""
    planned = cost(run, vocabulary, 1, [DEVICES["A100"]])
    return Request(30 + math.ceil(90 * planned.hours[0]), 2000 + math.ceil(planned.memory * 4 / 3 / 1e6))


def si(value: float, unit: str = "") -> str:
    """Three figures and a prefix of the SI, such as 1.30 GB."""
    power = 0
    while value >= 999.5:
        value, power = value / 1000, power + 1
    return f"{value:#.3g}".rstrip(".") + f" {' kMGTPEZY'[power].strip()}{unit}".rstrip()
