"""Print the lines of the Kth of N parts of a file: shard.py K/N FILE."""

import signal
import sys
from itertools import islice
from pathlib import Path

for each in (signal.SIGINT, signal.SIGPIPE):  # end without a traceback
    signal.signal(each, signal.SIG_DFL)
number, count = map(int, sys.argv[1].split("/"))
with Path(sys.argv[2]).open("rb") as stream:
    lines = sum(1 for _ in stream)
    stream.seek(0)
    sys.stdout.buffer.writelines(islice(stream, lines * (number - 1) // count, lines * number // count))
