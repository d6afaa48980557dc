"""Pages of results/released/EXPERIMENT/{tables,figures,models}, and of the trained models of this machine."""

import re
from collections.abc import Sequence
from pathlib import Path

from transformer.explore.page import write_page
from transformer.package.config import read_package_config
from workflow.results import load
from workflow.results.common.figure import Figure
from workflow.results.common.table_formats import GUIDE

RELEASED = Path("results/released")
FIGURES = [result for _, result in load() if isinstance(result, Figure)]
TITLES = {name: title for figure in FIGURES for name, title in figure.titles.items()}
FIRST = ("claims", "table1", "table2", "table3", "table4", "appendix")  # of the tables; the others follow by name
EXAMPLES = (
    "Two men are at the stove preparing food.",
    "A little girl climbing into a wooden playhouse.",
    "A man in an orange hat is looking at something.",
    "The dog runs through the snow with a red ball in its mouth.",
)


def experiments(root: Path) -> list[str]:
    """The experiments that have released results."""
    return sorted({path.parent.name for kind in ("tables", "figures") for path in (root / RELEASED).glob(f"*/{kind}")})


def shipped(root: Path) -> list[Path]:
    """The packages of the clone. The site has a page for each, in which it runs."""
    return sorted(path.parent.relative_to(root) for path in root.glob("models/**/package/config.json"))


def write_model(root: Path, package: Path, site: Path) -> None:
    """Write the page in which a shipped package runs. Beside base stand the other rows that were trained as it was."""
    _, task, model, *run = package.parts
    rows = [each for each in shipped(root) if each.parts[1] == task and list(each.parts[3:]) == run]
    beside = [each for each in rows if each != package] if model == "base" else []
    packages = [(root / each, read_package_config(root / each)) for each in (package, *beside)]
    tiny = packages[0][1].corpus["corpus"] == "multi30k-tokenised"  # lower-cased text, whose full stops stand apart
    examples = [text.lower().replace(".", " .") if tiny else text for text in EXAMPLES]
    target = site / package / "explore.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_page(target, packages, examples, root / RELEASED / "replication/tables/claims.csv")


def experiment_page(root: Path, name: str) -> str:
    """A page for an experiment: links to its text and tables, then its figures with their captions."""
    folder = root / RELEASED / name
    tables = sorted(folder.glob("tables/*.md"), key=_place)
    entries = [f"{short_title(path)} </{RELEASED}/{name}/tables/{path.stem}>" for path in tables]
    if (root / f"docs/{name}.md").exists():
        entries.insert(0, f"/docs/{name}")
    figures = "\n".join(
        f"## {TITLES[path.stem]}\n\n```{{figure}} /{RELEASED}/{name}/figures/{path.name}\n\n{caption(path.stem)}\n```\n"
        for path in sorted(folder.glob("figures/*.svg"))
    )
    return "\n\n".join([f"# Results of `{name}`", toctree(entries, "maxdepth: 1"), figures])


def models_page(root: Path) -> str | None:
    """A page that lists the cards of trained models, released and in results/; None where there are none."""
    cards = [package / "README.md" for package in shipped(root)]
    released = [path.relative_to(root) for path in sorted((root / RELEASED).glob("*/models/*.md"))]
    own = [path.relative_to(root) for path in sorted((root / "results").glob("*/runs/**/package/README.md"))]
    entries = ["Trained models to try </models/README>"] if cards else []
    entries += [f"in the clone, {'/'.join(card.parts[1:4])} </{card.with_suffix('')}>" for card in cards]
    entries += [f"{card.parts[2]}, {card.stem} </{card.with_suffix('')}>" for card in released]
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
    guide = f"<a href='../../../../{GUIDE.removesuffix('.md')}.html'>{GUIDE}</a>"
    apart = body[0].replace("</td>", "</td> ").replace(f": {GUIDE}", f": {guide}")
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
