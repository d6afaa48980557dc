"""How far long work is: a bar on a terminal, plain lines in a log."""

import sys
import time

from tqdm import tqdm


class Progress:
    """Counts `unit`s on standard error, up to `total` where that is known; in a log, a line every `seconds`."""

    def __init__(self, label: str, total: int | None, unit: str, done: int = 0, seconds: float = 10):
        self.label, self.total, self.unit, self.seconds = label, total, unit, seconds
        self.first = self.done = done
        self.start = self.shown = time.monotonic()
        terminal = sys.stderr.isatty()
        self.bar = tqdm(total=total, initial=done, unit=unit, desc=label) if terminal else None

    def update(self, count: int, note: str = "") -> None:
        """`count` more are done; `note` is shown beside them."""
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
        """End the bar."""
        if self.bar is not None:
            self.bar.close()
