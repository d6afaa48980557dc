"""A plugin of pytest: which tests of agreement ran, with whom they compare, and which were skipped and why.

A test of agreement compares our code with another implementation, with a publication's formulas or with its printed
numbers. It is marked `agreement(witness="...")`. The last line that this prints is also the last line of `.ci/run`.

With `--skipped`, pytest runs these tests and those that it skipped when it ran last.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

SKIPPED = "skipped"  # the key in pytest's cache


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option --skipped."""
    text = "run the tests of agreement, and those that were skipped when pytest ran last"
    parser.addoption("--skipped", action="store_true", help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Reports of a test carry its witness, also from one process of pytest to another."""
    for item in items:
        for mark in item.iter_markers("agreement"):
            item.user_properties.append(("agreement", mark.kwargs["witness"]))
    if config.option.skipped:
        again = set(config.cache.get(SKIPPED, []))  # tests, and files that were skipped as a whole
        chosen = [
            item
            for item in items
            if item.get_closest_marker("agreement") or {item.nodeid, item.nodeid.partition("::")[0]} & again
        ]
        config.hook.pytest_deselected(items=[*{*items} - {*chosen}])
        items[:] = chosen


def witnesses(reports: Iterable[Any]) -> list[tuple[Any, str]]:
    """The reports of tests of agreement, each with its witness."""
    every = [(report, dict(getattr(report, "user_properties", ()))) for report in reports]
    return [(report, given["agreement"]) for report, given in every if "agreement" in given]


def not_tested(skipped: list[tuple[Any, str]]) -> str:
    """Each function that was skipped, with how often and why."""
    names = [each.nodeid.partition("[")[0] for each, _ in skipped]
    reasons = [each.longrepr[2].removeprefix("Skipped: ") for each, _ in skipped]
    times = Counter(zip(names, reasons, strict=True))
    return "; ".join(
        f"{name} ({f'{count} times: ' if count > 1 else ''}{reason})" for (name, reason), count in times.items()
    )


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the tests of each witness, and what was not tested. Keep which tests and files were skipped."""
    if cache := getattr(config, "cache", None):  # None with -p no:cacheprovider
        cache.set(SKIPPED, [report.nodeid for report in terminalreporter.stats.get("skipped", ())])
    found = {key: witnesses(terminalreporter.stats.get(key, ())) for key in ("passed", "failed", "skipped")}
    ran, skipped = found["passed"] + found["failed"], found["skipped"]
    if not (total := len(ran) + len(skipped)):
        return
    terminalreporter.section("agreement")
    each = sorted(Counter(witness for _, witness in ran).items())
    terminalreporter.line("tests that ran: " + (", ".join(f"{witness} {count}" for witness, count in each) or "none"))
    all_ran = f"all {total} tests of agreement ran"
    some = f"{len(ran)} of {total} tests of agreement ran; agreement not tested: {not_tested(skipped)}"
    terminalreporter.line(some if skipped else all_ran)
