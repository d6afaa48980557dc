"""The lessons of the course: empty, right and wrong ones."""

import re
import shlex
import sys
from dataclasses import replace

import pytest

from tests import forks
from workflow.cli.lesson import (
    AT_THE_END,
    NOT_WRITTEN,
    ROOT,
    TRANSLATION,
    begin,
    empty,
    first_fault,
    lessons,
    main,
    run,
)

LESSONS = lessons()


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The copy of a lesson, made once."""
    made = {}

    def of(section):
        if section not in made:
            made[section] = tmp_path_factory.mktemp("lesson") / section
            begin(LESSONS[section], made[section])
        return made[section]

    return of


def solve(folder, lesson):
    """Put our functions where the lesson has none. What computes the same elsewhere stays hidden."""
    for file in {place.split()[0] for place in lesson.write}:
        (folder / file).write_text((ROOT / file).read_text())
        for place in lesson.hide:
            if place.split()[0] == file:
                empty(folder, place)


def test_the_page_of_the_course_has_all_lessons():
    assert re.findall(r"^\| ([\d.a-z-]+) \|", (ROOT / "docs/course.md").read_text(), re.MULTILINE) == [*LESSONS]


@pytest.mark.parametrize("section", LESSONS)
def test_a_lesson_lacks_what_is_to_be_written_and_what_computes_the_same(copy, section):
    folder = copy(section)
    lesson, page = LESSONS[section], (folder / "LESSON.md").read_text()
    for place in (*lesson.write, *lesson.hide):
        file, name = place.split()
        assert f'NotImplementedError("{name} {NOT_WRITTEN}")' in (folder / file).read_text()
    assert all(f"`{place.split()[1]}`" in page for place in lesson.write)
    assert "\nON = False\n" in (folder / "transformer/model/kernels.py").read_text()
    assert "**The paper.**" in page
    assert f"SECTION={section}" in page


@pytest.fixture
def quick(monkeypatch):
    """Let the checks start their Python at once."""
    monkeypatch.setattr(sys, "executable", f"{forks.folder()}/python")


@pytest.mark.workflow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("section", LESSONS)
def test_an_empty_lesson_fails(copy, section):
    assert f"{NOT_WRITTEN} (tests/" in first_fault(LESSONS[section], copy(section))


@pytest.mark.workflow
@pytest.mark.usefixtures("quick")
def test_with_our_functions_the_tests_of_all_lessons_pass_without_kernels_and_what_is_hidden(tmp_path):
    folder = tmp_path / "all"
    begin(replace(LESSONS["3.1"], hide=[place for lesson in LESSONS.values() for place in lesson.hide]), folder)
    for lesson in LESSONS.values():
        solve(folder, lesson)
    tests = [shlex.split(each) for lesson in LESSONS.values() for each in (*lesson.tests, AT_THE_END)]
    files, chosen = {f"tests/{file}" for file, *_ in tests}, [words for _, *rest in tests for words in rest[1:]]
    done = run(folder, "-m", "pytest", "-q", "-n0", *sorted(files), "-k", " or ".join([*chosen, "average", "mask"]))
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.workflow
@pytest.mark.usefixtures("quick")
def test_a_right_lesson_translates_and_a_wrong_one_is_told_in_words(tmp_path, capsys, monkeypatch):
    students, lesson = tmp_path / "class", LESSONS["3.2.1"]
    folder = students / "ada/3.2.1"
    begin(lesson, folder)
    solve(folder, lesson)
    monkeypatch.setattr(sys, "argv", ["lesson", "check", "3.2.1", str(folder)])
    assert main() == 0
    assert TRANSLATION in capsys.readouterr().out
    path = folder / lesson.write[0].split()[0]
    path.write_text(path.read_text().replace("(q_BHTK * scale)", "q_BHTK"))
    monkeypatch.setattr(sys, "argv", ["lesson", "report", str(students)])
    assert main() == 0
    [row] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ada")]
    assert "attention equals that of pytorch: AssertionError" in row


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("new", "9.9", "new"), "choose 3.1, 3.2.1"),
        (("new", "3.1", "."), "exists; continue there"),
        (("check", "3.1", "absent"), "no such folder; make it with `make lesson`"),
        (("report", "absent"), "no such folder"),
    ],
)
def test_a_lesson_or_a_folder_that_is_not_there_or_must_not_be_is_refused(
    tmp_path, capsys, monkeypatch, arguments, said
):
    monkeypatch.setattr(sys, "argv", ["lesson", *arguments[:-1], str(tmp_path / arguments[-1])])
    assert main() == 2
    assert said in capsys.readouterr().err
