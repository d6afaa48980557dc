"""What a profile or the command line sets for rules, checked before anything runs: Snakemake ignores unknown names."""

import ast
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from humanfriendly import InvalidSize, InvalidTimespan, parse_size, parse_timespan

from transformer.support.faults import ConfigError, Fault, Keys, unknown
from transformer.support.files import InputError

# Our rules', Snakemake's, and those of its executor for Slurm.
RESOURCES = [
    *("gpu", "nodes", "micro_batch_tokens", "trainings_per_gpu", "runtime", "mem", "disk", "tmpdir", "threads"),
    *("mem_mb", "mem_mib", "disk_mb", "disk_mib", "mem_mb_per_cpu", "gpu_model", "gres", "mpi", "constraint", "qos"),
    *("tasks", "tasks_per_gpu", "tasks_per_node", "cpus_per_task", "cpus_per_gpu", "cluster", "clusters"),
    *("slurm_account", "slurm_cluster", "slurm_extra", "slurm_partition"),
]
COUNTS = (
    *("threads", "gpu", "nodes", "tasks", "micro_batch_tokens", "trainings_per_gpu"),
    *("mem_mb", "mem_mib", "disk_mb", "disk_mib", "mem_mb_per_cpu"),
)
POSITIVE = ("threads", "nodes", "tasks", "trainings_per_gpu")
MEASURES = {  # resources with a unit
    "runtime": (parse_timespan, "a time; write one such as 90m or 12h"),
    "mem": (parse_size, "a size; write one such as 16GB"),
    "disk": (parse_size, "a size; write one such as 16GB"),
}
FIXED = ("threads", "micro_batch_tokens")  # numbers for `train`, because `measure_step_time` takes them for all runs
A_RULE = re.compile(r"^ *rule (\w+):", re.MULTILINE)


def rule_names(clone: Path, *others: Iterable[str]) -> set[str]:
    """The rules that any experiment may have: those of the project's files, and `others`, whose names are computed."""
    files = (clone / "Snakefile", *(clone / "workflow").rglob("*.smk"), clone / "workflow/Snakefile")
    return {name for file in files for name in A_RULE.findall(file.read_text("utf-8"))}.union(*others)


def check_filled_in(*resources: Mapping[str, Any]) -> None:
    """Raises InputError if an account or a partition in the profile is still FILL_IN."""
    if any("FILL_IN" in _written(value) for some in resources for value in some.values()):
        raise InputError(
            "account or partition is not filled in; copy profiles/slurm to my-slurm, replace each FILL_IN in its "
            "profile.yaml, and give --profile my-slurm"
        )


def check_set(
    rules: Collection[str],
    resources: Mapping[str, Mapping[str, Any]],
    threads: Mapping[str, Any],
    defaults: Mapping[str, Any],
    own: Collection[str] = (),
) -> None:
    """Raises ConfigError that lists the unknown rules and resources, and the faulty counts, times and sizes.

    `resources` and `threads` are those that are set for rules, `defaults` the resources of all rules. `own` are further
    resources, which have a limit.
    """
    counted = {rule: {"threads": value} for rule, value in threads.items()}
    faults = [
        *_faults("--set-resources", rules, resources, {*defaults, *own}),
        *_faults("--set-threads", rules, counted, own),
        # Snakemake itself gives None to some, for no default.
        *_values(
            (), "--default-resources", {name: each for name, each in defaults.items() if _written(each) != "None"}
        ),
    ]
    if faults:
        raise ConfigError("", faults)


def _faults(
    option: str, rules: Collection[str], given: Mapping[str, Mapping[str, Any]], own: Collection[str]
) -> Iterator[Fault]:
    for rule, values in given.items():
        if rule not in rules and not rule.startswith("tokenise_"):  # one for each task of some texts
            yield Fault((rule,), unknown(rule, sorted(rules), "rule"), option)
        for name in values:
            if name not in RESOURCES and name not in own:
                text = f"{unknown(name, RESOURCES, 'resource')} (give one of your own in default-resources, too)"
                yield Fault((rule, name), text, option)
        yield from _values((rule,), option, values)


def _values(keys: Keys, option: str, values: Mapping[str, Any]) -> Iterator[Fault]:
    """The faults of resources with a number or a unit. `keys` hold the rule that they are set for."""
    for name, value in values.items():
        written = _written(value)
        if name in COUNTS and not _counts(written, fixed="train" in keys and name in FIXED):
            text = f"{written} is not a whole number; write one such as 4"
        elif name in POSITIVE and written.isdecimal() and not int(written):
            text = f"{written} is not at least 1"
        elif name in MEASURES and not _measures(written, MEASURES[name][0]):
            text = f"{written} is not {MEASURES[name][1]}"
        else:
            continue
        yield Fault((*keys, name), text, option)


def _written(value: Any) -> str:
    """A resource as it is given, an expression as its text."""
    return str(getattr(value, "raw", value))


def _counts(written: str, fixed: bool) -> bool:
    """Whether a text is a whole number or, unless it must be `fixed`, an expression that may give one."""
    text = os.path.expandvars(written)
    return text.isdecimal() or (not fixed and _computes(text))


def _measures(written: str, parse: Callable[[str], float]) -> bool:
    """Whether a text is what `parse` reads, or an expression that may give it."""
    text = os.path.expandvars(written)
    try:
        parse(text)
    except (InvalidSize, InvalidTimespan):
        return _computes(text)
    return True


def _computes(text: str) -> bool:
    """Whether a text is an expression, and not only a value."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return not isinstance(tree, (ast.Constant, ast.Tuple, ast.UnaryOp)) and not (
        isinstance(tree, ast.Name) and tree.id not in ("attempt", "threads")
    )
