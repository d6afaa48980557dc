"""Train base of the experiment `multi30k` for a given time, and measure its BLEU on test."""

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import yaml

from benchmarks.gpu.made import ROOT, drawn_lengths, drawn_text
from transformer.corpora.fetch import local_path
from transformer.corpora.parts import Given, write_whole
from transformer.decoding.search import Search, Sentence
from transformer.decoding.translate import hypotheses, padded_subwords
from transformer.evaluation.bleu import paper_bleu, sacrebleu
from transformer.experiment.config import Experiment, read_experiment
from transformer.experiment.tasks import Task
from transformer.model.transformer import Transformer
from transformer.support.device import choose_device, keep_freed_memory
from transformer.support.files import read_parallel, write_lines
from transformer.text.subwords import Subwords, encode_pairs, learn, sampled
from transformer.text.tokens import Pairs, write_pairs
from transformer.training.average import average
from transformer.training.config import RunConfig
from transformer.training.loop import Trainer

OWN = ROOT / "config/multi30k.yaml"
FOR_BLEU = 0.25  # the share of the time that is kept for translating, at most 30 seconds
TINY = {"train": 200, "dev": 10, "test": 10}  # pairs


class TimeIsUp(Exception):  # noqa: N818 - no error
    """The time for training is over."""


def tiny_experiment(folder: Path) -> list[Path]:
    """The configs of a tiny experiment with a text of random words."""
    texts: dict[str, Any] = {"origin": "files"}
    vocabularies = itertools.count(60)  # each has other words, so no two texts are equal
    for part, count in TINY.items():
        for language in ("en", "de"):
            write_lines(folder / f"{part}.{language}", drawn_text(drawn_lengths(count, 12)[:, 0], next(vocabularies)))
        texts[part] = [{language: str(folder / f"{part}.{language}") for language in ("en", "de")}]
    small = {"steps": 12, "checkpoint_every": 3, "average": 2, "batch_tokens": 200}
    task = {"vocabulary": 60, "corpus": "tiny", "models": ["base"]}
    overlay = {"scale": {"width": "1/16", "depth": "1/6"}, "tasks": {"ende": task}}
    (folder / "tiny.yaml").write_text(yaml.safe_dump(overlay | {"models": {"base": small}, "corpora": {"tiny": texts}}))
    return [OWN, folder / "tiny.yaml"]


def at_hand(experiment: Experiment) -> Path | None:
    """A folder, laid out as host/path, that has all files of the corpus; None if there is no such folder."""
    urls = [file for file in experiment.files_of("ende") if "://" in file]
    mirror = experiment.mirror or os.environ.get("TRANSFORMER_MIRROR")
    folders = [Path("results/downloads"), *([Path(mirror)] if mirror else [])]
    return next((folder for folder in folders if all((folder / local_path(url)).is_file() for url in urls)), None)


def prepared(experiment: Experiment, downloads: Path, folder: Path) -> dict[str, Pairs]:
    """Write the corpus and its subwords (`subwords.model`) to `folder`; returns the ids of train and dev."""
    task, corpus, model = experiment.tasks["ende"], experiment.corpus_of("ende"), folder / "subwords.model"
    names = {"name": task.corpus, "source": task.source, "target": task.target}
    write_whole(corpus, folder, Given(folder, downloads, None, None, None, None), **names)
    texts = {part: (folder / f"{part}.source", folder / f"{part}.target") for part in ("train", "dev")}
    learn(sampled(*texts["train"], experiment.subwords), task.vocabulary, model)
    subwords, pairs = Subwords(model), {}
    for part, both in texts.items():
        write_pairs(folder / part, encode_pairs(*both, model, 1), len(subwords), subwords.sha256)
        pairs[part] = Pairs.read(folder / part)
    return pairs


def measure(_model: str, seconds: float, tiny: bool) -> Iterator[dict[str, Any]]:
    """The steps, their seconds, and BLEU; or the reason why the part is left out."""
    end = time.monotonic() + seconds
    keep_freed_memory()
    with TemporaryDirectory() as name:
        folder = Path(name)
        experiment = read_experiment(tiny_experiment(folder) if tiny else [OWN])
        downloads = folder if tiny else at_hand(experiment)
        if downloads is None:
            yield {"reason": "its files are neither in results/downloads nor in TRANSFORMER_MIRROR; fetch them first"}
            return
        pairs, task = prepared(experiment, downloads, folder / "text"), experiment.tasks["ende"]
        run = experiment.run("ende", "base", 1)
        trainer = Trainer(
            run, len(Subwords(folder / "text/subwords.model")), *pairs.values(), folder / "run", choose_device()
        )
        train_until(trainer, end - min(30.0, FOR_BLEU * seconds))
        state = trainer.state
        yield {"steps": state.step, "of": run.training.steps, "training_seconds": state.seconds}
        model = averaged(trainer, run)
        yield scores(model, task, folder / "text")


def train_until(trainer: Trainer, end: float) -> None:
    """Train to the last step, or until time.monotonic() reaches `end`."""

    def reached(_: int) -> None:
        if time.monotonic() > end:
            raise TimeIsUp

    try:
        trainer.train(reached=reached)
    except TimeIsUp:
        return


def averaged(trainer: Trainer, run: RunConfig) -> Transformer:
    """The average of the checkpoints to average that the run has reached; before the first one, its weights."""
    paths = [path for step in run.training.checkpoint_steps() if (path := trainer.checkpoint(step)).exists()]
    model = Transformer(run.architecture, trainer.vocabulary).to(trainer.device)
    weights = {name: torch.from_numpy(array) for name, array in average(paths).items()}
    model.load_state_dict(weights or trainer.model.state_dict())
    return model.eval()


def scores(model: Transformer, task: Task, folder: Path) -> dict[str, Any]:
    """Both BLEUs on test with the task's beam, and the sentences/s; for BLEU, the package that is `missing`."""
    lines, references = read_parallel(folder / "test.source", folder / "test.target")
    subwords, device, how = Subwords(folder / "subwords.model"), model.embedding.device, task.decoding
    search = Search(how.beam, how.alpha, how.extra)
    sentences = [Sentence(number, ids) for number, ids in enumerate(subwords.encode(lines), 1)]
    size = max(1, padded_subwords(device) // how.beam)
    start = time.perf_counter()
    translations = hypotheses(sentences, lambda batches: (search(model, batch) for batch in batches), size)
    took = time.perf_counter() - start
    texts = subwords.decode([best[0].ids for best in translations])
    found = {"sacrebleu": sacrebleu(texts, references).score, "sentences_per_second": len(lines) / took}
    try:
        return found | {"bleu": paper_bleu(texts, references, task.target).score}
    except ModuleNotFoundError as error:
        return found | {"missing": error.name}
