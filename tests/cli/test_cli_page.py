"""The commands of config/README.md, section "Without Snakemake", run as they are printed there."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "config/README.md").read_text().partition("\n## Without Snakemake\n")[2].partition("\n## ")[0]
BLOCKS = [re.sub("^    ", "", block, flags=re.M) for block in re.findall(r"(?:^    .*\n)+", SECTION, re.M)]


def test_the_documented_commands_lead_from_text_to_scores_in_any_folder(tmp_path):
    *files, commands = BLOCKS
    for text in files:
        name = re.match("# (.*)\n", text)[1]
        shorter = re.sub(r" steps: \d+", " steps: 6", re.sub(r"checkpoint_every: \d+", "checkpoint_every: 1", text))
        (tmp_path / name).write_text(shorter)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.yaml", "run.yaml"]
    drawn = random.Random(1)
    words = ["".join(drawn.choices("abcdefghijklmnopqrstuvwxyz", k=drawn.randint(3, 9))) for _ in range(6000)]
    for part, pairs in {"train": 1500, "dev": 5, "test": 4}.items():
        for language in ("en", "de"):
            lines = (" ".join(drawn.choices(words, k=drawn.randint(3, 8))) for _ in range(pairs))
            (tmp_path / f"{part}.{language}").write_text("".join(f"{line}\n" for line in lines))
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    environment |= {"OMP_NUM_THREADS": "1"}
    typed_in = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
    typed = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], **typed_in)
    assert typed.returncode == 0, typed.stderr
    assert len((tmp_path / "test.translation").read_text().splitlines()) == 4
    assert json.loads((tmp_path / "test.scores.json").read_text())["sentences"] == 4
