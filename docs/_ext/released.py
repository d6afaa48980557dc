"""Pages of the released results, docs/EXPERIMENT/{tables,figures,models}, and of the trained models of this machine."""

import re
from collections.abc import Sequence
from pathlib import Path

from workflow.results import load
from workflow.results.common.figure import Figure

FIGURES = [result for _, result in load() if isinstance(result, Figure)]
TITLES = {name: title for figure in FIGURES for name, title in figure.titles.items()}
FIRST = ("claims", "table1", "table2", "table3", "table4", "appendix")  # of the tables; the others follow by name
DATA = re.compile(r'^<(?:title>|script type="application/json").*\n', re.MULTILINE)


def experiments(root: Path) -> list[str]:
    """The experiments that have released results."""
    return sorted({path.parent.name for kind in ("tables", "figures") for path in (root / "docs").glob(f"*/{kind}")})


def released_pages(root: Path) -> list[Path]:
    """The pages of attention. Only their titles and data are released: the lines that `DATA` matches."""
    return sorted(path.relative_to(root) for path in root.glob("docs/*/figures/*.html"))


def attention_page(released: str) -> str:
    """A whole page of attention from its title and data."""
    from transformer.evaluation.attention_page import around_data  # loads PyTorch

    title, *data = DATA.findall(released)
    head, tail = around_data(title.removeprefix("<title>").removesuffix("</title>\n"))
    return "".join([head, *data, tail])


def experiment_page(root: Path, name: str) -> str:
    """A page for an experiment: links to its text and tables, then its figures with their captions."""
    folder = root / "docs" / name
    tables = sorted(folder.glob("tables/*.md"), key=_place)
    entries = [f"{short_title(path)} </docs/{name}/tables/{path.stem}>" for path in tables]
    if folder.with_suffix(".md").exists():
        entries.insert(0, f"/docs/{name}")
    figures = "\n".join(
        f"## {TITLES[path.stem]}\n\n```{{figure}} /docs/{name}/figures/{path.name}\n\n{caption(path.stem)}\n```\n"
        for path in sorted(folder.glob("figures/*.svg"))
    )
    own = [path for path in released_pages(root) if path.parts[1] == name]
    pages = [f"[{TITLES[path.stem]}](../{name}/figures/{path.name})" for path in own]
    return "\n\n".join([f"# Results of `{name}`", toctree(entries, "maxdepth: 1"), *pages, figures])


def models_page(root: Path) -> str | None:
    """A page that lists the cards of trained models, released and in results/; None where there are none."""
    shipped = [path.relative_to(root) for path in sorted(root.glob("models/**/package/README.md"))]
    released = [path.relative_to(root) for path in sorted(root.glob("docs/*/models/*.md"))]
    own = [path.relative_to(root) for path in sorted((root / "results").glob("*/runs/**/package/README.md"))]
    entries = ["Trained models to try </models/README>"] if shipped else []
    entries += [f"in the clone, {'/'.join(card.parts[1:4])} </{card.with_suffix('')}>" for card in shipped]
    entries += [f"{card.parts[1]}, {card.stem} </{card.with_suffix('')}>" for card in released]
    entries += [f"{card.parts[1]} here, {'/'.join(card.parts[3:-3])} </{card.with_suffix('')}>" for card in own]
    text = "# Trained models\n\nOne in the clone, and those of the released tables, which `make reproduce` trains.\n\n"
    if own:
        text += 'Those marked "here" are in `results/` of this machine.\n\n'
    return text + toctree(entries, "maxdepth: 1") if entries else None


def table_page(path: Path) -> str:
    """A page for a table: title, experiment, the body of its html, which has notes and sorts itself, other formats.

    Sphinx's search would join the words of cells without a space between them, and find none of them.
    """
    body = re.search(r"<(section|table).*(?=</html>)", path.with_suffix(".html").read_text("utf-8"), re.DOTALL)
    if not body:
        raise ValueError(f"{path.with_suffix('.html')}: has no table; make it again")
    apart = body[0].replace("</td>", "</td> ")
    return (
        f"# {_title(path)}, `{path.parents[1].name}`\n\n"
        f"```{{raw}} html\n<div class=whole>\n{apart}</div>\n```\n\n"
        f"This table as [csv]({path.stem}.csv) and [tex]({path.stem}.tex).\n"
    )


def toctree(entries: Sequence[str], *options: str) -> str:
    """The directive that lists pages."""
    return "\n".join(["```{toctree}", *(f":{option}" for option in options), "", *entries, "```", ""])


def short_title(table: Path) -> str:
    """A table's title without what follows a colon or stands in brackets."""
    return re.split(r":| \(", _title(table))[0]


def _title(table: Path) -> str:
    return table.read_text("utf-8").splitlines()[0].strip("*")


def _place(table: Path) -> tuple[int, str]:
    return FIRST.index(table.stem) if table.stem in FIRST else len(FIRST), table.stem


def caption(name: str) -> str:
    """The caption of a figure, without sentences that hold values of a run."""
    [text] = [figure.caption for figure in FIGURES if name in figure.titles]
    sentences = re.split(r"(?<=[.!?])\s+|(?<=\.\*\*)\s+", text.strip())
    return " ".join(each for each in sentences if "{" not in each)
