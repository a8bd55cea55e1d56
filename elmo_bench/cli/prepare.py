"""`python -m elmo_bench prepare`: from a licensed download to the files that tasks read."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmo_bench.cli.overrides import read_paths, take_overrides

CORPORA = ("conll2003", "conll2005", "conll2012")  # the recipes of elmo_bench/sources/joining.py

HELP = """join the files of a licensed download into the files that tasks read with data=paper

The files are written below paths.local. If their counts are not those that are
published of the corpus, the exit code is 1; the files stay.
Nothing is downloaded: the corpora are under licences of their own.

conll2003: eng.train, eng.testa, eng.testb                              task=ner
conll2005: train.02.words ... train.21.props, devel.24.*, test.wsj.*    task=srl data.corpus=conll2005
conll2012: the *_gold_conll files of train, development and test       task=srl, task=coref, task=pos"""
EXAMPLE = """python -m elmo_bench prepare conll2012 conll-formatted-ontonotes-5.0
  python -m elmo_bench prepare conll2003 ~/reuters paths.local=/corpora"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The corpus and the directory of its download."""
    take_overrides(parser)
    parser.add_argument("corpus", choices=CORPORA)
    parser.add_argument(
        "directory", type=Path, metavar="DIR", help="the download; its files may lie at any depth"
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the files, and print what they hold."""
    from elmo_bench.sources.joining import RECIPES, join, require_published

    recipe = RECIPES[arguments.corpus]
    written = join(recipe, arguments.directory, read_paths(arguments).local)
    for one in written:
        print(one.line)
    require_published(recipe, written)
