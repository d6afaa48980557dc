"""Show the progress of long work: a bar on a terminal, plain lines in a log."""

import sys
import time

from tqdm import tqdm


class Progress:
    """Shows on standard error how many `unit`s of `total` are done; in a log, prints a line every `seconds`.

    `total` is None where it is unknown. `done` units were finished earlier and do not count towards the speed.
    """

    def __init__(self, label: str, total: int | None, unit: str, done: int = 0, seconds: float = 10):
        self.label, self.total, self.unit, self.seconds = label, total, unit, seconds
        self.first = self.done = done
        self.start = self.shown = time.monotonic()
        terminal = sys.stderr.isatty()
        self.bar = tqdm(total=total, initial=done, unit=unit, desc=label) if terminal else None

    def update(self, count: int, note: str = "") -> None:
        """Count `count` more units as done, and show `note` beside the progress."""
        self.done += count
        if self.bar is not None:
            self.bar.set_postfix_str(note, refresh=False)
            self.bar.update(count)
            return
        now = time.monotonic()
        if now - self.shown >= self.seconds or self.done == self.total:
            self.shown = now
            rate = (self.done - self.first) / max(now - self.start, 1e-9)
            speed = f"{rate:.0f}" if rate >= 100 else f"{rate:.3g}"
            text = f"{self.label}: {self.done} {self.unit}{'' if self.unit.isupper() else 's'}, {speed}/s"
            if self.total is not None:
                left = (self.total - self.done) / max(rate, 1e-9)
                text += f", {100 * self.done / self.total:.0f} % of {self.total}, {left:.0f} s left"
            print(f"{text}  {note}".rstrip(), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Close the bar."""
        if self.bar is not None:
            self.bar.close()
