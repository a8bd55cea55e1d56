"""The sources of corpora: every source provides files of a conventional format under known paths."""

from elmo_bench.sources.corpora import SPLITS, Corpus, choose_corpus, generate_world, prepare
from elmo_bench.sources.listing import list_corpora, locate, read_corpora

__all__ = [
    "SPLITS",
    "Corpus",
    "choose_corpus",
    "generate_world",
    "list_corpora",
    "locate",
    "prepare",
    "read_corpora",
]
