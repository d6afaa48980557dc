"""Every kind of corpus that a config can name."""

from dataclasses import dataclass

from transformer.corpora.grammar import Grammar
from transformer.corpora.libreoffice import LibreOfficeHelp
from transformer.corpora.moses import MosesFiles
from transformer.corpora.self_training import ParsedText, SelfTraining
from transformer.corpora.texts import Files
from transformer.corpora.treebank import Treebank

Corpus = LibreOfficeHelp | Files | MosesFiles | Treebank | Grammar | SelfTraining | ParsedText


@dataclass(frozen=True)
class TaskCorpus:
    """A corpus as one task uses it: a model translates from side `source` to side `target`."""

    name: str
    source: str
    target: str
    corpus: Corpus
