"""docs/DATA.md lists every corpus with its licence and counts, and its examples are read by their tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from elmo_bench.catalog import list_tasks, read_task
from elmo_bench.config import CorpusConfig
from elmo_bench.records import Record, read_record
from elmo_bench.sources import read_corpora
from elmo_bench.types import SplitFiles
from tests.conftest import PROJECT
from tests.support.composition import make_task
from tests.support.markdown import code_blocks, read_page, section, table_rows

PAGE = "docs/DATA.md"
SOURCES = ("open", "paper")
EXAMPLES = {block.info: block.text for block in code_blocks(PAGE) if block.info}
READ = {  # the examples of a task and format, as that of a split
    ("ner", "columns"): ("ner.conll",),
    ("pos", "conllu"): ("pos.conllu",),
    ("pos", "conll2012"): ("srl.conll",),
    ("srl", "conll2012"): ("srl.conll",),
    ("srl", "conll2005"): ("srl.words", "srl.props"),
    ("coref", "conll2012"): ("coref.conll",),
    ("snli", "snli"): ("snli.jsonl",),
    ("squad", "squad"): ("squad.json",),
    ("sst5", "trees"): ("sst5.txt",),
    ("wsd", "unified"): ("wsd.index.sense", "wsd.data.xml", "wsd.gold.key.txt"),
}
CORPORA = [
    (task, source, name, corpus)
    for task in list_tasks()
    for source in SOURCES
    for name, corpus in read_corpora(read_task(task), source)[1].items()
]


def row_of(task: str, source: str, corpus: str) -> tuple[str, ...]:
    """The row of a corpus: name, source, licence, train, dev, test, what is counted."""
    rows = [
        row
        for row in table_rows(section(read_page(PAGE), task))
        if row[0].strip("`*") == corpus and row[1] == source
    ]
    assert len(rows) == 1, f"{task}: {len(rows)} rows for {corpus} of data={source}"
    return rows[0]


@pytest.mark.parametrize(("task", "form"), READ)
def test_a_task_reads_its_examples(task: str, form: str, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in READ[task, form]]
    for path in paths:
        path.write_text(EXAMPLES[path.name], encoding="utf-8")
    (example, *others) = make_task(task).read(SplitFiles("test", form, tuple(paths)))
    assert others == []
    words = [
        word for sentences in make_task(task).sentences(example).values() for s in sentences for word in s
    ]
    assert words and all(word in "".join(EXAMPLES.values()) for word in words)


def test_every_format_has_an_example() -> None:
    formats = {(task, corpus.format) for task, _, _, corpus in CORPORA}
    assert formats == set(READ)
    assert {name for names in READ.values() for name in names} == set(EXAMPLES)


@pytest.mark.parametrize(("task", "source", "name", "corpus"), CORPORA)
def test_every_corpus_is_listed_with_its_licence(
    task: str, source: str, name: str, corpus: CorpusConfig
) -> None:
    row = row_of(task, source, name)
    assert row[2] == corpus.licence
    default, _ = read_corpora(read_task(task), source)
    assert row[0].endswith("*") == (name == default)


@pytest.mark.parametrize(("task", "source", "name", "corpus"), [entry for entry in CORPORA if entry[3].hub])
def test_published_counts_are_those_that_are_checked(
    task: str, source: str, name: str, corpus: CorpusConfig
) -> None:
    row = row_of(task, source, name)
    assert corpus.hub is not None
    for split, shown in zip(("train", "dev", "test"), row[3:6], strict=True):
        rows = corpus.hub.rows.get(split) or corpus.hub.rows.get("test" if split == "dev" else split)
        assert shown in (f"{rows:,}", "–"), split
    for tokens in corpus.hub.tokens.values():
        assert f"{tokens:,}" in row[6]


def published_runs() -> Iterator[Record]:
    """One published run of every open corpus; a run of a fraction has the dev and test sets of all."""
    seen = set()
    for path in sorted((PROJECT / "results" / "records").glob("*/*-s1.json")):
        if path.parent.name in list_tasks():
            record = read_record(path)
            if record.source == "open" and (key := (record.task, record.corpus)) not in seen:
                seen.add(key)
                yield record


def test_counts_of_open_corpora_are_those_of_the_published_runs() -> None:
    records = list(published_runs())
    assert {record.task for record in records} == set(list_tasks())
    for record in records:
        row = row_of(record.task, "open", record.corpus)
        for split, shown in (("dev", row[4]), ("test", row[5])):
            assert shown == f"{record.examples[split]:,}", (record.task, split)


def test_the_layout_has_every_file_of_the_paper() -> None:
    (layout,) = (block.text for block in code_blocks(PAGE) if block.text.startswith("data/"))
    lines = layout.split()
    for task, source, _, corpus in CORPORA:
        if source == "paper":
            for split in (corpus.train, corpus.dev, corpus.test):
                for file in [split] if isinstance(split, str) else split or ():
                    directory, name = file.split("/")
                    assert f"{directory}/" in lines and name in lines, (task, file)
