"""Input functions of the rules: the files and settings of a task's text, by wildcards."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from snakemake.iocontainers import Wildcards

from transformer.corpora.fetch import Download, local_path
from transformer.corpora.grammar import Grammar
from transformer.corpora.kinds import TaskCorpus
from transformer.corpora.libreoffice import LibreOfficeHelp
from transformer.corpora.moses import MosesFiles
from transformer.corpora.parts import PARTS
from transformer.corpora.self_training import ParsedText, SelfTraining
from transformer.corpora.texts import Files
from transformer.corpora.treebank import Treebank
from transformer.model.config import last_position
from transformer.model.ids import LONGEST
from transformer.support.strict import plain
from workflow.dag.runs import Runs
from workflow.experiment.config import Experiment

SIDES = ("source", "target")


def texts_of(*parts: str) -> dict[str, str]:
    """The files of some parts: name of an output -> file name."""
    return {f"{part}_{side}": f"{part}.{side}" for part in parts for side in SIDES}


TEXTS = texts_of(*PARTS)
LONGER = texts_of("longer")  # a further part that a corpus of help pages has
TREES = TEXTS | {f"{part}_trees": f"{part}.trees" for part in ("dev", "test")}


@dataclass(frozen=True)
class Making:
    """How a rule makes the corpora of a kind."""

    kind: type
    tasks: Sequence[str]
    writes: Mapping[str, str]  # name of an output -> file name
    reads: Sequence[Callable[[Wildcards], dict[str, Any]]] = ()  # input functions, besides the config
    cached: bool = False


class Inputs:
    """Functions for the inputs and parameters of rules. `urls` maps the path of a download to its URL."""

    def __init__(self, experiment: Experiment, runs: Runs, downloads: dict[str, Download]):
        self.experiment, self.runs, self.paths = experiment, runs, runs.paths
        self.downloads = downloads
        self.urls = {str(local_path(url)): url for url in downloads}

    def tasks_of(self, *kinds: type) -> list[str]:
        """The tasks whose corpus is of one of these kinds."""
        return [name for name in self.experiment.tasks if type(self.experiment.corpus_of(name)) in kinds]

    @cached_property
    def makings(self) -> dict[str, Making]:
        """The rules that make corpora. Further test sets depend on the corpus, so their tasks each have a rule."""
        pages, files, gold, parses, of = self.pages, self.files, self.gold, self.parses, self.tasks_of
        rules = {
            "pair_pages": Making(LibreOfficeHelp, of(LibreOfficeHelp), TEXTS | LONGER, [pages], cached=True),
            "read_files": Making(Files, of(Files), TEXTS, [files], cached=True),
            "read_treebank": Making(Treebank, of(Treebank), TREES, [files]),
            "generate_trees": Making(Grammar, of(Grammar), TREES | {"plain": "plain.source"}),
            "add_parsed_text": Making(SelfTraining, of(SelfTraining), TREES, [gold, parses]),
            "add_own_parsed_text": Making(ParsedText, of(ParsedText), TREES, [gold, files]),
        }
        for task in of(MosesFiles):
            texts = TEXTS | texts_of(*self.runs.further_tests(task))
            rules[f"tokenise_{task}"] = Making(MosesFiles, [task], texts, [files])
        return rules

    def corpus(self, wildcards: Wildcards) -> dict[str, Any]:
        """What a task's corpus is made from. Empty for names that its kind does not read."""
        [making] = [each for each in self.makings.values() if wildcards.task in each.tasks]
        read: dict[str, Any] = {name: [] for name in ("text", "gold_record", "parses", "log_probabilities")}
        for each in making.reads:
            read |= each(wildcards)
        return read

    def task_corpus(self, wildcards: Wildcards) -> Any:
        """The config file of the command `corpus`: a task's corpus with its settings."""
        task = self.experiment.tasks[wildcards.task]
        return plain(TaskCorpus(task.corpus, task.source, task.target, self.experiment.corpora[task.corpus]))

    def vocabulary_config(self, wildcards: Wildcards) -> Any:
        """What a task's vocabulary is learnt with, besides the text."""
        task = self.experiment.tasks[wildcards.task]
        return {"vocabulary": task.vocabulary, "kind": task.kind, **plain(self.experiment.subwords)}

    def language(self, wildcards: Wildcards) -> str:
        """The language into which models of a task translate."""
        return self.experiment.tasks[wildcards.task].target

    def length_config(self, wildcards: Wildcards) -> Any:
        """The config file of the command `length`: a run of the study of length."""
        return plain(self.experiment.length.run(wildcards.problem, wildcards.positions, int(wildcards.seed)))

    def debian_packages(self, wildcards: Wildcards) -> dict[str, Any]:
        """The Debian packages that contain the pages of a corpus."""
        corpus = cast(LibreOfficeHelp, self.experiment.corpora[wildcards.corpus])
        return {"packages": plain(corpus.packages)}

    def files(self, wildcards: Wildcards) -> dict[str, Any]:
        """The files that a task's corpus is read from: the user's own and downloads."""
        files = self.experiment.files_of(wildcards.task)
        return {"files": [f"{self.paths.downloads}/{local_path(file)}" if "://" in file else file for file in files]}

    def sizes(self, wildcards: Wildcards) -> list[int]:
        """The sizes in bytes of the user's own files: they show that a file was replaced by one with an older date."""
        own = (Path(file) for file in self.experiment.files_of(wildcards.task) if "://" not in file)
        return [file.stat().st_size if file.is_file() else 0 for file in own]

    def pages(self, wildcards: Wildcards) -> dict[str, Any]:
        """The fetched pages of a task's corpus."""
        return {"text": f"{self.paths.corpus('origin')}/{self.experiment.tasks[wildcards.task].corpus}.tsv"}

    def download(self, wildcards: Wildcards) -> dict[str, Any]:
        """The URL, the size and the SHA-256 of a download."""
        url = self.urls[wildcards.file]
        return {"url": url, **plain(self.downloads[url])}

    def held_out(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """All text of a task that no model learns from, of any length."""
        longer = ["longer"] * (wildcards.task in self.tasks_of(LibreOfficeHelp, Files, MosesFiles))
        folder = self.paths.corpus(wildcards.task)
        return {side: [f"{folder}/{part}.{side}" for part in ("dev", "test", *longer)] for side in SIDES}

    def decoded(self, wildcards: Wildcards) -> list[str]:
        """The texts of a task that models decode or score: dev and test, and the sources of further test sets."""
        parts = {"dev": SIDES, "test": SIDES} | dict.fromkeys(self.runs.further_tests(wildcards.task), SIDES[:1])
        folder = self.paths.corpus(wildcards.task)
        return [f"{folder}/{part}.{side}" for part, sides in parts.items() for side in sides]

    def longest_pair(self, wildcards: Wildcards) -> int:
        """The length of the longest pair that any model of a task learns from, in subwords of the longer side."""
        runs = (self.experiment.run(wildcards.task, model, 0) for model in self.runs.trained[wildcards.task])
        return max(run.training.longest_pair for run in runs)

    def vocabulary(self, wildcards: Wildcards) -> str:
        """A task's subwords. If packages are given, those of its first package (all its packages have the same)."""
        if not self.experiment.packages:
            return f"{self.paths.results}/subwords/{wildcards.task}.model"
        [first, *_] = self.runs.dev_scores({wildcards.task: self.runs.trained[wildcards.task]})
        [vocabulary] = self.runs.packages_behind([first], "subwords.model")
        return vocabulary

    def plain_text(self, wildcards: Wildcards) -> dict[str, Any]:
        """The task whose text a treebank's plain sentences are drawn from, and the settings of the drawing."""
        settings = cast(Treebank, self.experiment.corpus_of(wildcards.task)).plain
        assert settings  # or no task learns from them
        return {**plain(settings), "words": " ".join(map(str, settings.words))}

    def plain_most(self, wildcards: Wildcards) -> int:
        """The most subwords of a plain sentence that its parsers can read."""
        corpora = map(self.experiment.corpus_of, self.runs.trained)
        parsers = [each.parser for each in corpora if isinstance(each, SelfTraining) and each.gold == wildcards.task]
        runs = (self.experiment.run(wildcards.task, parser, 0) for parser in parsers)
        return min((last_position(run.architecture) or LONGEST for run in runs), default=LONGEST)

    def plain_vocabulary(self, wildcards: Wildcards) -> str | list[str]:
        """The subwords by which plain sentences are measured. Empty if all parsers can read LONGEST subwords."""
        return self.vocabulary(wildcards) if self.plain_most(wildcards) < LONGEST else []

    def plain_source(self, wildcards: Wildcards) -> str:
        """The text that a treebank's plain sentences are drawn from."""
        return f"{self.paths.corpus(self.plain_text(wildcards)['task'])}/train.source"

    def gold(self, wildcards: Wildcards) -> dict[str, Any]:
        """The gold trees of a semi-supervised corpus."""
        corpus = cast(SelfTraining | ParsedText, self.experiment.corpus_of(wildcards.task))
        folder = self.paths.corpus(corpus.gold)
        return {
            "gold": [f"{folder}/train.{side}" for side in SIDES],
            "held_out": [f"{folder}/{part}.{side}" for part in ("dev", "test") for side in (*SIDES, "trees")],
            "gold_record": f"{folder}/corpus.json",
        }

    def parses(self, wildcards: Wildcards) -> dict[str, Any]:
        """The plain sentences of a self-training corpus, and their parses."""
        corpus = cast(SelfTraining, self.experiment.corpus_of(wildcards.task))
        parses = self.runs.parses_of(corpus)
        return {
            "plain": f"{self.paths.corpus(corpus.gold)}/plain.source",
            "parses": parses,
            "log_probabilities": str(Path(parses).with_suffix(".logp")),
        }

    def source(self, wildcards: Wildcards) -> str:
        """The text of a part. For a shard it is the whole text from which the shard is taken."""
        return f"{self.paths.corpus(wildcards.task)}/{wildcards.part.partition('-')[0]}.source"

    def chunk(self, wildcards: Wildcards) -> str:
        """Which share of that text is translated: K/N for jobs/shard.py, 1/1 for a part that is not a shard."""
        shard = re.fullmatch(r"plain-(\d+)-of-(\d+)", wildcards.part)
        return "/".join(shard.groups()) if shard else "1/1"

    def search(self, wildcards: Wildcards) -> str:
        """The options of `translate` that replace the package's own decoding settings."""
        how = self.runs.searches.get(wildcards.search)
        return f"--beam {how.beam} --alpha {how.alpha}" if how else ""

    def shards(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """The parses of each shard of a task's plain sentences, and their log P."""
        folder = f"{self.paths.run}/average-{{average}}".format(**wildcards)
        kinds = {"translations": "translation", "log_probabilities": "logp"}
        shards = self.runs.plain_shards(wildcards.task)
        return {name: [f"{folder}/{shard}.{kind}" for shard in shards] for name, kind in kinds.items()}

    def reference(self, wildcards: Wildcards) -> str:
        """The file that translations are scored against: the target side, or gold trees."""
        kind = {"translation": "target", "parsing": "trees"}[self.experiment.tasks[wildcards.task].kind]
        return f"{self.paths.corpus(wildcards.task)}/{wildcards.part}.{kind}"
