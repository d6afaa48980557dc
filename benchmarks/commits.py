"""Compare how fast two commits of this project train the same model on the same text.

    python -m benchmarks.commits OLD NEW --configfile config/quick-captions.yaml --model base

Each commit makes the text, the subwords and the run's config with its own workflow, and trains with its own command on
one thread of the CPU. In each round both commits train FEW and then MANY steps in turn, so that noise of the machine
affects both alike. The difference of the two times is that of the steps between, without the start of the process.

Prints for each commit the median over the rounds of target subwords per second of CPU time, the median ratio to the
first commit's, and the dev perplexity after MANY steps.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import yaml

FEW, MANY = 75, 525


class Commit:
    """A commit in its own folder, with the text, the subwords and the config of a run."""

    def __init__(self, name: str, folder: Path, overlays: list[str], task: str, model: str):
        folder.mkdir()
        archive = subprocess.run(["git", "archive", name], check=True, capture_output=True).stdout
        subprocess.run(["tar", "--extract", "--directory", folder], check=True, input=archive)
        self.folder = folder
        self.environment = os.environ | {"PYTHONPATH": str(folder), "CUDA_VISIBLE_DEVICES": ""}
        options = ["--configfile", *overlays] if overlays else []
        configs = [yaml.safe_load(Path(folder, path).read_text()) for path in ("config/config.yaml", *overlays)]
        self.results = folder / "results" / [each["experiment"] for each in configs if "experiment" in each][-1]
        self.run = self.results / "runs" / task / model / "1"
        self.tokens, self.subwords = self.results / "tokens" / task, self.results / "subwords" / f"{task}.model"
        ids = (self.tokens / f"{part}.ids.npy" for part in ("train", "dev"))
        targets = [path.relative_to(folder) for path in (self.run / "config.yaml", self.subwords, *ids)]
        command = ["snakemake", "--cores", "1", "--quiet", "all", *options, "--", *targets]
        subprocess.run(command, cwd=folder, env=self.environment, check=True)

    def train(self, steps: int, place: Path) -> tuple[float, int, float]:
        """Train; returns the CPU seconds, the number of target subwords and the last dev perplexity."""
        config = yaml.safe_load((self.run / "config.yaml").read_text())
        config["training"] |= {"steps": steps, "average": 1}  # FEW steps have too few checkpoints for an average
        place.mkdir()
        (place / "config.yaml").write_text(yaml.safe_dump(config))
        command = [sys.executable, "-m", "transformer", "train", "--config", place / "config.yaml", "--threads", "1"]
        command += ["--subwords", self.subwords, "--tokens", self.tokens, "--output-dir", place]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(command, cwd=self.folder, env=self.environment, stderr=subprocess.PIPE, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if run.returncode:
            raise SystemExit(f"{self.folder.name} cannot train: {run.stderr}")
        perplexity = (place / "history.csv").read_text().splitlines()[-1].split(",")[-1]
        tokens = json.loads((place / "training.json").read_text())["target_tokens"]
        return sum(after[:2]) - sum(before[:2]), tokens, float(perplexity)  # the first two: of the user, of the system


def main() -> None:
    """Print a line for each commit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs=2, metavar="COMMIT", help="the second is compared with the first")
    parser.add_argument("--configfile", nargs="*", default=[], help="overlays for both commits (default: quick)")
    parser.add_argument("--task", default="ende", help="task of the run (default: %(default)s)")
    parser.add_argument("--model", default="base", help="model of the run (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds (default: %(default)s)")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        given = (arguments.configfile, arguments.task, arguments.model)
        commits = [Commit(name, Path(folder, name), *given) for name in arguments.commits]
        speeds: list[list[float]] = [[] for _ in commits]
        perplexities = [0.0 for _ in commits]
        for number in range(arguments.rounds):
            for which, commit in enumerate(commits):
                few, many = (commit.train(steps, commit.folder / f"{steps}-{number}") for steps in (FEW, MANY))
                speeds[which].append((many[1] - few[1]) / (many[0] - few[0]))
                perplexities[which] = many[2]
            print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    for name, of_rounds, perplexity in zip(arguments.commits, speeds, perplexities, strict=True):
        ratio = median(new / old for new, old in zip(of_rounds, speeds[0], strict=True))
        print(f"{name:12} {median(of_rounds):8,.0f} subwords/s  {ratio:.2f} x  dev perplexity {perplexity:.1f}")


if __name__ == "__main__":
    main()
