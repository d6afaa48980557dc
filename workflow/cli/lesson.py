"""Lessons: a copy of the clone in which some functions are empty, and the check of what a student wrote there.

python -m workflow.cli.lesson new SECTION FOLDER
python -m workflow.cli.lesson check SECTION FOLDER
python -m workflow.cli.lesson report FOLDER     a table of all lessons below FOLDER/STUDENT
"""

import argparse
import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tabulate import tabulate

from transformer.support.files import InputError, write_text

ROOT = Path(__file__).parents[2]
COPIED = ("pyproject.toml", "config", "tests", "transformer", "workflow")
MODEL = "models/ende/big"
AT_THE_END = 'training/test_loop.py -k "loss_falls"'  # a small model is trained
SENTENCE, TRANSLATION = "A man rides a bicycle.", "Ein Mann fährt ein Fahrrad."
NOT_WRITTEN = "is not written yet"
PAGE = """\
# {section}: {title}

Write what is missing:

{places}

The docstrings say what each gets and returns, with the shapes. Fused kernels are switched off, so your code is what
runs. To check it, in the clone that this is a copy of:

    make check-lesson SECTION={section}

{paper}
"""


@dataclass(frozen=True)
class Lesson:
    """A lesson of docs/lessons.yaml, which explains the fields."""

    section: str
    title: str
    page: str
    write: tuple[str, ...]
    tests: tuple[str, ...]
    hide: tuple[str, ...] = ()


def lessons() -> dict[str, Lesson]:
    """All lessons by their sections."""
    read = yaml.safe_load((ROOT / "docs/lessons.yaml").read_text("utf-8"))
    return {each["section"]: Lesson(**each) for each in read}


def lesson_of(section: str) -> Lesson:
    """The lesson of a section. Raises InputError if there is none."""
    known = lessons()
    if section not in known:
        raise InputError(f"{section}: there is no such lesson; choose {', '.join(known)}")
    return known[section]


def begin(lesson: Lesson, folder: Path) -> None:
    """Make the copy of a lesson, with its page. Raises InputError when the folder exists."""
    if folder.exists():
        raise InputError(f"{folder}: exists; continue there, or name another folder")
    for name in (MODEL, *COPIED):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    kernels = folder / "transformer/model/kernels.py"
    write_text(kernels, re.sub(r"^ON = True.*$", "ON = False", kernels.read_text("utf-8"), flags=re.MULTILINE))
    for place in (*lesson.write, *lesson.hide):
        empty(folder, place)
    places = "\n".join("- `{1}` in `{0}`".format(*place.split()) for place in lesson.write)
    write_text(folder / "LESSON.md", PAGE.format(**vars(lesson), places=places, paper=paper(lesson)))


def paper(lesson: Lesson) -> str:
    """What docs/paper says of a lesson's section: the paper's words, and where we differ."""
    page = (ROOT / "docs/paper" / lesson.page).read_text("utf-8")
    number = re.escape(lesson.section.partition("-")[0])
    [text] = re.findall(rf"^#+ {number}\b.*\n((?:(?!#).*\n)*)", page, re.MULTILINE)
    paragraphs = (each.strip() for each in text.split("\n\n"))
    return "\n\n".join(each for each in paragraphs if re.match(r"\*\*(The paper|What differs)", each))


def empty(folder: Path, place: str) -> None:
    """Leave only the signature and the docstring of a function, named as `file.py Class.function`."""
    file, name = place.split()
    path = folder / file
    text = path.read_text("utf-8")
    body: list[Any] = ast.parse(text).body
    for part in name.split("."):
        [found] = [each for each in body if getattr(each, "name", None) == part]
        body = found.body
    first = body[1] if ast.get_docstring(found) is not None else body[0]
    lines = text.splitlines(keepends=True)
    raising = f'{" " * first.col_offset}raise NotImplementedError("{name} {NOT_WRITTEN}")\n'
    lines[first.lineno - 1 : found.end_lineno] = [raising]
    write_text(path, "".join(lines))


def run(folder: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python in a copy, which finds no other copy's modules."""
    environment = {**os.environ, "PYTHONPATH": str(folder.resolve()), "COLUMNS": "500"}
    call = [sys.executable, *arguments]
    return subprocess.run(call, cwd=folder, env=environment, input=given, capture_output=True, text=True)


def first_fault(lesson: Lesson, folder: Path) -> str | None:
    """The first thing that is wrong in a copy, in words; None if nothing is."""
    for tests in (*lesson.tests, AT_THE_END):
        file, *chosen = shlex.split(tests)
        done = run(folder, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", f"tests/{file}", *chosen)
        if done.returncode:
            found = re.search(r"^(?:FAILED|ERROR) \S+?(?:::(\w+)(?:\[.*?\])?)?(?: - (.*))?$", done.stdout, re.MULTILINE)
            if found is None:
                printed = (done.stderr or done.stdout).strip().splitlines() or [f"pytest's status is {done.returncode}"]
                return f"the tests did not run: {printed[-1]}"
            name, said = found[1] or "test_the_code_can_be_read", found[2] or "no"
            words = name.removeprefix("test_").replace("_", " ")
            return f"{words}: {said} (tests/{file})"
    translated = run(folder, "-m", "transformer", "translate", "--package", package(folder), given=f"{SENTENCE}\n")
    if translated.stdout.strip() != TRANSLATION:
        said = translated.stdout.strip() or translated.stderr.strip().splitlines()[-1]
        return f'"{SENTENCE}" should become "{TRANSLATION}", and not: {said}'
    return None


def package(folder: Path) -> str:
    """The trained model of a copy."""
    [found] = folder.glob(f"{MODEL}/*/*/package")
    return str(found.relative_to(folder))


def report(folder: Path) -> Iterator[dict[str, str]]:
    """A row for each student: for each lesson `done`, or what is wrong first."""
    known = lessons()
    for student in sorted(each for each in folder.iterdir() if each.is_dir()):
        found = {section: student / section for section in known if (student / section).is_dir()}
        faults = {section: first_fault(known[section], path) for section, path in found.items()}
        yield {"student": student.name, **{section: faults[section] or "done" for section in faults}}


def main() -> int:
    """Exit status 1 if a check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    for name in ("new", "check", "report"):
        command = commands.add_parser(name)
        if name != "report":
            command.add_argument("section", metavar="SECTION")
        command.add_argument("folder", metavar="FOLDER", type=Path)
    given = parser.parse_args()
    try:
        if given.what != "new" and not given.folder.is_dir():
            raise InputError(f"{given.folder}: no such folder; make it with `make lesson`, or correct FOLDER")
        if given.what == "report":
            print(tabulate(list(report(given.folder)), headers="keys", tablefmt="github", missingval="-"))
            return 0
        lesson = lesson_of(given.section)
        if given.what == "new":
            begin(lesson, given.folder)
            print(f"read {given.folder}/LESSON.md")
            return 0
        fault = first_fault(lesson, given.folder)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"not yet: {fault}" if fault else f"right: it translates: {TRANSLATION}")
    return int(fault is not None)


if __name__ == "__main__":
    sys.exit(main())
