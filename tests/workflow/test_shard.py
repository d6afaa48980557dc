"""The shards of a text that jobs translate in parallel."""

import subprocess
import sys
from pathlib import Path

import pytest

SHARD = Path(__file__).parents[2] / "workflow/jobs/shard.py"


def shard(path, part):
    return subprocess.run([sys.executable, SHARD, part, path], capture_output=True, check=True).stdout


@pytest.mark.parametrize(
    "text", [b"", b"a\n", b"a\r\n\n\xc2\x85b\0\xff\n", b"".join(b"%d\n" % n for n in range(11)) + b"end"]
)
def test_shards_together_are_the_whole_text_and_divide_no_line(tmp_path, text):
    path = tmp_path / "plain.source"
    path.write_bytes(text)
    assert shard(path, "1/1") == text
    parts = [shard(path, f"{number}/3") for number in (1, 2, 3)]
    assert b"".join(parts) == text
    counts = [part.count(b"\n") for part in parts]
    assert max(counts) - min(counts) <= 1
    assert all(part.endswith(b"\n") for part in parts[:2] if part)
