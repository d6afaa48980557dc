import csv
import http.server
import json
import math
import random
import threading
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from transformer.evaluation.bleu import Counts
from workflow.dag.paths import Paths
from workflow.dag.runs import Runs
from workflow.experiment.config import read_experiment
from workflow.results import load
from workflow.results.common.figure import Figure
from workflow.results.common.result import Table
from workflow.results.selection import Selection

ROOT = Path(__file__).parents[2]


class SyntheticResults:
    """Files like those of the stages, with invented numbers."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, path, value):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return str(path)

    def run(self, task, model, seed=1, part="dev", average=1, p=None, training=None, **scores):
        """Write a run's scores and its package's record of the training. `training` adds keys to this record.

        `scores` replaces keys of the scores.

        With `p`, also its comparison with base: that of the randomisation, and half of it of the bootstrap.
        """
        head = {"task": task, "model": model, "seed": seed}
        decoding = {"average": average, "part": part, "sentences": 900}
        decoding |= {"decoding": {"beam": 4, "alpha": 0.6, "sample": None, "precision": "float32"}}
        bleu = {
            "perplexity": 9.871,
            "sacrebleu": {"score": 15.26, "signature": "nrefs:1|tok:13a", "length": 0.913},
            "paper_bleu": {"score": 16.04, "signature": "tok:moses|compounds:split"},
        }
        counts = {"repaired": 3, "valid": 900, "error": 0, "skip": 0, "crossing": 1.234, "up_to_40_words": {"f1": 90.1}}
        f1 = {"brackets": {"f1": 88.14, "recall": 88.0, "precision": 88.3, "exact": 40.0, **counts}}
        cost = {"seconds": 200.0, "devices": 2, "device": "a CPU", "sustained_flops": 5e10, "flops": 1.5e12}
        made = {"config_sha256": "c0ffee0123456789", "software": {"commit": f"{'ab' * 20}-dirty", "torch": "2.13.0"}}
        made |= {"precision": "float32", "threads": 1, "resumed": 2, "steps_redone": 1250}
        size = {"parameters": 830_000, "steps": 1500, "target_tokens": 10**6}
        folder = f"runs/{task}/{model}/{seed}"
        package = f"{folder}/average-{average}/package"
        comparison = {
            "bootstrap": {"p": (p or 0) / 2, "signature": "bs:1000|seed:12345"},
            "randomisation": {"p": p, "signature": "ar:1000|seed:12345"},
        }
        return SimpleNamespace(
            task=task,
            model=model,
            comparisons=[self.write(f"{folder}/average-{average}/{part}.comparison.json", comparison)] if p else [],
            scores=self.write(
                f"{folder}/average-{average}/{part}.scores.json",
                {**head, **decoding, **(f1 if task in ("wsj", "semi") else bleu), **scores},
            ),
            package=self.write(
                f"{package}/config.json", {"training": {**head, **cost, **size, **made, **(training or {})}}
            ),
            history=self.write(f"{package}/history.csv", history(f"{task} {model} {seed}")),
        )

    def searches(self, *settings):
        """Two runs of seeds 1 and 2, and scores of other settings: average, beam, alpha and the BLEU of each seed."""
        runs = [self.run("ende", "base", seed, average=5, **bleu(10.0 * seed)) for seed in (1, 2)]
        others = [
            self.write(f"{average}.{beam}.{alpha}.{seed}.json", head | {"average": average} | bleu(score))
            for average, beam, alpha, *scores in settings
            for seed, score in enumerate(scores, 1)
            for head in [{"seed": seed, "decoding": {"beam": beam, "alpha": alpha}}]
        ]
        return runs, {"others": others}

    def lengths(self, run, *rows):
        """Write the output of `perplexity --by-length --translate`: shortest, longest, pairs, subwords, perplexity.

        And the translations of all pairs, of 10 words each, whose sacreBLEU is 100 / perplexity.
        """
        columns = ["shortest", "longest", "pairs", "subwords", "perplexity", "sacrebleu", *Counts._fields]
        lines = [",".join(columns)]
        for *row, perplexity in rows:
            pairs = row[2]
            ngrams = [pairs * (10 - n) for n in range(4)]
            matches = [count / perplexity for count in ngrams] if perplexity else []
            more = [100 / perplexity, pairs, 10 * pairs, 10 * pairs, *matches, *ngrams] if perplexity else [""] * 12
            lines.append(",".join(map(str, [*row, perplexity, *more])))
        path = Path(run.scores).relative_to(self.folder).with_name("lengths.csv")
        return self.write(str(path), "\n".join(lines) + "\n")

    def table(self, name, runs=(), **params):
        """Make the table of a room; its csv as dicts, and its md, html and tex."""
        table = declared(name, Table)
        output = {kind: [str(self.folder / f"{name}.{kind}")] for kind in table.kinds}
        table.make(self.job(runs, output, **params))
        text, *others = (Path(path).read_text() for [path] in output.values())
        return list(csv.DictReader(text.splitlines())), others

    def figure(self, name, runs=(), kinds=("svg",), **params):
        """Draw the figures of a room; the paths of each kind of each."""
        figure = declared(name, Figure)
        output = {each: [str(self.folder / f"{each}.{kind}") for kind in kinds] for each in figure.titles}
        figure.make(self.job(runs, output, **params))
        return [Path(path) for paths in output.values() for path in paths]

    def job(self, runs=(), output=(), inputs=None, **params):
        """Snakemake's object of a job."""
        equal: dict = {}
        for run in runs:
            equal.setdefault(run.task, {})[run.model] = [run.model]
        shown = {"title": "A title", "notes": ["Not comparable: another text."], "own": [], "warmups": {}}
        shown |= {"in_full": ["ende", "enfr", "wsj", "semi"], "pairs": {"ende": "en-de", "enfr": "en-fr"}}
        return SimpleNamespace(
            input=SimpleNamespace(
                published=str(ROOT / "config" / "published.yaml"),
                scores=[run.scores for run in runs],
                packages=[run.package for run in runs],
                comparisons=[path for run in runs for path in run.comparisons],
                histories=[run.history for run in runs],
                **{"times": [], **(inputs or {})},
            ),
            output=output,
            params=SimpleNamespace(**{**shown, "equal": equal, **params}),
            log=[str(self.folder / "log")],
        )

    def step_times(self, task, **rows):
        """Write the times of a task's models: model -> the seconds of a step in each round."""
        base = {"task": task, "seed": 1, "config_sha256": "c0ffee", "parameters": 830_000, "precision": "float32"}
        base |= {"compiled": False, "target_tokens": 1000.0}
        record = {"device": "abacus", "threads": 1, "software": {"commit": "ab" * 20, "torch": "2.13.0"}}
        record |= {"rounds": len(next(iter(rows.values()))), "steps": 10, "waited": 1.0}
        record["rows"] = [
            {**base, "model": model, "flops": 1e9 * number, "seconds": seconds, "others": [0.25] * len(seconds)}
            for number, (model, seconds) in enumerate(rows.items(), 1)
        ]
        return {"times": [self.write(f"step_time/{task}.json", record)]}


def declared(room, kind):
    """The first table or figure of a room, such as table3 of tables.table3, or of the folder claims."""
    return next(each for name, each in load() if room in name.split(".") and isinstance(each, kind))


def bleu(score):
    """Both BLEUs of a score file."""
    sacrebleu = {"score": score - 1, "signature": "t", "length": score / 64}  # exact in binary
    return {"paper_bleu": {"score": score, "signature": "s"}, "sacrebleu": sacrebleu}


def history(seed):
    """A history.csv of 1500 steps, with a development perplexity every 250."""
    rng = random.Random(seed)
    floor = rng.uniform(2.0, 3.5)
    lines = ["step,loss,learning_rate,gradient_norm,tokens_per_second,dev_perplexity"]
    for step in range(50, 1501, 50):
        loss = floor + 5 * math.exp(-step / 300) + rng.uniform(-0.1, 0.1)
        lines.append(f"{step},{loss},0.001,0.5,9000,{math.exp(loss - 0.5) if step % 250 == 0 else ''}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def server(tmp_path):
    """A server's folder, its URL, and the requests that it got."""
    folder = tmp_path / "served"
    folder.mkdir()
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


@pytest.fixture
def results(tmp_path):
    return SyntheticResults(tmp_path)


@pytest.fixture(scope="session")
def published():
    return yaml.safe_load((ROOT / "config" / "published.yaml").read_text())


@pytest.fixture
def select(tmp_path):
    """The selection of the experiment `quick` with an overlay."""

    def make(numbers=ROOT / "config/published.yaml", **overlay):
        path = tmp_path / "overlay.yaml"
        path.write_text(yaml.safe_dump(overlay))
        experiment = read_experiment([path])
        return Selection(experiment, Runs(experiment, Paths.of(experiment)), numbers)

    return make
