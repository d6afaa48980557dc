"""Every kind of corpus that a config can name."""

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.grammar import Grammar
from transformer.corpora.libreoffice import LibreOfficeHelp
from transformer.corpora.moses import MosesFiles
from transformer.corpora.self_training import ParsedText, SelfTraining
from transformer.corpora.texts import Files
from transformer.corpora.treebank import Treebank
from transformer.support.fields import STRICT, Config, Faults, check
from transformer.support.languages import not_languages

Corpus = LibreOfficeHelp | Files | MosesFiles | Treebank | Grammar | SelfTraining | ParsedText


@dataclass(frozen=True, config=STRICT)
class TaskCorpus(Config):
    """A corpus as one task uses it: a model translates from side `source` to side `target`."""

    name: str = Field(description="name of the corpus")
    source: str = Field(description="the side from which models translate")
    target: str = Field(description="the side into which they translate")
    corpus: Corpus = Field(discriminator="origin", description="the corpus itself")

    @check
    def _languages(self) -> Faults:
        if not self.corpus.has_trees:
            yield from not_languages(source=self.source, target=self.target)
