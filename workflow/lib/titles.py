"""The section of the paper and the title of each table and figure. The report sorts by both."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from transformer.experiment.tasks import Task

LANGUAGES = {"en": "English", "de": "German", "fr": "French"}
EVERY = ""  # the section of what concerns the whole paper; it comes first


class Entry(NamedTuple):
    """A table or a figure in the report."""

    section: str
    title: str
    detail: str = ""  # stands after the title in the caption of a table

    def caption(self, ende: "Task") -> str:
        """The title with its detail, in which the languages of the task `ende` stand for {ende}."""
        if not self.detail:
            return self.title
        source, target = (LANGUAGES.get(each, each) for each in (ende.source, ende.target))
        return f"{self.title} ({self.detail.format(ende=f'{source}-{target}')})"


TABLES = {
    "claims": Entry(EVERY, "The paper's claims", "the paper's differences and ours"),
    "scaling": Entry("3.2.1", "Scaled, unscaled and additive attention", "{ende}, development set"),
    "length": Entry("3.5", "Length", "exact match on longer problems than those of training"),
    "positions": Entry("3.5", "Positional encodings", "{ende}, development set"),
    "table1": Entry("4", "Table 1: complexity of layers"),
    "corpora": Entry("5.1", "The corpora", "pairs read, removed by cleaning, and left"),
    "runs": Entry("5.2", "The runs", "config, code, software and machine"),
    "marks": Entry("6.1", "Published marks", "BLEU of lower-cased tokens on the test sets of Multi30k"),
    "table2": Entry("6.1", "Table 2: BLEU and training cost", "test set"),
    "decoding": Entry("6.1", "Tuning of decoding", "beam, length penalty and averaging; development set"),
    "table3": Entry("6.2", "Table 3: variations on the architecture", "{ende}, development set"),
    "table4": Entry("6.3", "Table 4: constituency parsing", "F1, test set"),
    "appendix": Entry("Appendix", "Attention over parameters", "{ende}, development set"),
}

FIGURES = {
    "claims": Entry(EVERY, "The paper's claims"),
    "dot_products": Entry("3.2.1", "Why scores are divided by √d_k"),
    "length": Entry("3.5", "Length"),
    "positions": Entry("3.5", "Positional encodings, by length"),
    "table1": Entry("4", "Table 1: complexity of layers"),
    "training_curves": Entry("5", "Training curves"),
    "decoding": Entry("6.1", "Tuning of decoding"),
    "table3": Entry("6.2", "Table 3: variations on the architecture"),
    "trees": Entry("6.3", "Parsed sentences and gold trees"),
    "figure3": Entry("Appendix", "Figure 3: heads from “making”"),
    "figure4": Entry("Appendix", "Figure 4: heads from “its”"),
    "figure5": Entry("Appendix", "Figure 5: two other heads"),
    "attention": Entry("Appendix", "Figures to explore: attention"),
}
