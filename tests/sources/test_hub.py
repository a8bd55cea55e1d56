"""Corpora of the Hub, read from local copies of a repository's layout."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.error import URLError

import datasets
import pytest

from elmo_bench import sources
from elmo_bench.config import CorpusConfig, HubConfig, TaskConfig, read_config
from elmo_bench.data.conll2003 import read_entities
from elmo_bench.data.snli import read_snli
from elmo_bench.data.squad import read_squad
from elmo_bench.hashing import hash_file
from elmo_bench.sources import hub
from elmo_bench.types import DataError, DataMissingError, PackageMissingError, UsageError
from tests.support.composition import TASKS, compose, run_config
from tests.support.servers import tracker_server

SPLITS = {"train": "train", "dev": "validation", "test": "test"}
TAGS = ["O", "B-PER", "I-PER"]
SENTENCES = [[["Ann", "Lee", "ran"], [1, 2, 0]], [["He", "ran"], [0, 0]]]
TAGGED = HubConfig(
    repository="nobody/nothing", revision="main", kind="tokens", columns=("tokens", "ner_tags"), splits=SPLITS
)
PAIRS = TAGGED.model_copy(update={"kind": "pairs", "columns": ("premise", "hypothesis", "label")})
QUESTIONS = TAGGED.model_copy(
    update={"kind": "questions", "columns": ("id", "title", "context", "question", "answers")}
)


@pytest.fixture(autouse=True)
def no_bars() -> None:
    datasets.disable_progress_bars()


def write_parquet(directory: Path, split: str, columns: dict[str, list[Any]], features: Any) -> None:
    rows = datasets.Dataset.from_dict(columns, features=features)
    rows.to_parquet(str(directory / "data" / f"{split}-00000-of-00001.parquet"))


def tagged_repository(directory: Path, sentences: list[Any] = SENTENCES) -> Path:
    (directory / "data").mkdir(parents=True)
    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            "tokens": datasets.List(datasets.Value("string")),
            "ner_tags": datasets.List(datasets.ClassLabel(names=TAGS)),
        }
    )
    columns = {
        "id": [str(number) for number in range(len(sentences))],
        "tokens": [words for words, _ in sentences],
        "ner_tags": [tags for _, tags in sentences],
    }
    for split in SPLITS.values():
        write_parquet(directory, split, columns, features)
    return directory


def fetch(wanted: HubConfig, repository: Path | str, root: Path, said: list[str] | None = None) -> Path:
    names = {split: f"own/{split}.txt" for split in SPLITS}
    log = (said if said is not None else []).append
    return hub.fetch(wanted.model_copy(update={"repository": str(repository)}), names, root, "ask", log)


def test_class_numbers_become_tags_in_columns(tmp_path: Path) -> None:
    directory = fetch(TAGGED, tagged_repository(tmp_path / "copy"), tmp_path / "cache")
    text = (directory / "own" / "train.txt").read_text()
    assert text == "Ann B-PER\nLee I-PER\nran O\n\nHe O\nran O\n\n"
    assert [sentence.tags for sentence in read_entities(directory / "own" / "dev.txt")] == [
        ("B-PER", "I-PER", "O"),
        ("O", "O"),
    ]
    facts = json.loads((directory / hub.FACTS).read_text())
    assert facts["counts"]["test"] == {"rows": 2, "tokens": 5}
    assert facts["sha256"]["own/train.txt"] == hash_file(directory / "own" / "train.txt")
    assert not (directory / ".arrow").exists()


def test_rows_are_read_once_and_again_when_the_copy_changes(tmp_path: Path) -> None:
    said: list[str] = []
    copy = tagged_repository(tmp_path / "copy")
    first = fetch(TAGGED, copy, tmp_path / "cache", said)
    assert fetch(TAGGED, copy, tmp_path / "cache", said) == first
    assert len(said) == 1
    for path in copy.rglob("*.parquet"):
        path.unlink()
    (copy / "data").rmdir()
    tagged_repository(copy, SENTENCES[:1])
    assert fetch(TAGGED, copy, tmp_path / "cache", said) != first
    assert len(said) == 2


def test_json_lines_with_tags_in_words_are_read_too(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for split in SPLITS.values():
        (copy / f"{split}.jsonl").write_text('{"tokens": ["Ann", "ran"], "ner_tags": ["B-PER", "O"]}\n')
    directory = fetch(TAGGED, copy, tmp_path / "cache")
    assert (directory / "own" / "train.txt").read_text() == "Ann B-PER\nran O\n\n"


def test_pairs_without_a_label_are_marked_as_in_the_release(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (copy / "data").mkdir(parents=True)
    features = datasets.Features(
        {
            "premise": datasets.Value("string"),
            "hypothesis": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["entailment", "neutral", "contradiction"]),
        }
    )
    columns: dict[str, list[Any]] = {
        "premise": ["A é dog.", "B."],
        "hypothesis": ["C.", "D."],
        "label": [2, -1],
    }
    for split in SPLITS.values():
        write_parquet(copy, split, columns, features)
    directory = fetch(PAIRS, copy, tmp_path / "cache")
    found = read_snli(directory / "own" / "train.txt")
    assert [(pair.premise, pair.hypothesis, pair.label) for pair in found.pairs] == [
        ("A é dog.", "C.", "contradiction")
    ]
    assert found.unlabelled == 1


def test_questions_are_gathered_by_paragraph_and_article(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    rows = [
        ("a", "T", "Ann ran.", "Who?", [("Ann", 0)]),
        ("b", "T", "Ann ran.", "What?", [("ran", 4), ("ran.", 4)]),
        ("c", "T", "Bob sat.", "Who?", [("Bob", 0)]),
        ("d", "U", "Cy.", "Who?", [("Cy", 0)]),
    ]
    lines = [
        {
            "id": identifier,
            "title": title,
            "context": context,
            "question": question,
            "answers": {"text": [text for text, _ in answers], "answer_start": [at for _, at in answers]},
        }
        for identifier, title, context, question, answers in rows
    ]
    for split in SPLITS.values():
        (copy / f"{split}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    directory = fetch(QUESTIONS, copy, tmp_path / "cache")
    path = directory / "own" / "train.txt"
    assert [len(article["paragraphs"]) for article in json.loads(path.read_text())["data"]] == [2, 1]
    found = [
        (
            row.id,
            row.article,
            row.context,
            row.question,
            [(answer.text, answer.start) for answer in row.answers],
        )
        for row in read_squad(path)
    ]
    assert found == rows


def test_a_corpus_of_another_size_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    copy = tagged_repository(tmp_path / "copy")
    with pytest.raises(DataError, match=r"expected 3 rows in 'train', got 2; .*hub\.rows\.train=2"):
        fetch(TAGGED.model_copy(update={"rows": {"train": 3}}), copy, tmp_path / "cache")
    with pytest.raises(DataError, match=r"expected 9 tokens in 'validation', got 5"):
        fetch(TAGGED.model_copy(update={"tokens": {"dev": 9}}), copy, tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    ("sentence", "complaint"),
    [
        ([["Ann Lee"], [1]], "row 1: expected words and tags without blanks, got 'Ann Lee'"),
        ([["Ann", "Lee"], [1]], "row 1: expected lists of one length, got 2 tokens, 1 ner_tags"),
    ],
)
def test_rows_that_do_not_fit_columns_are_refused(sentence: Any, complaint: str, tmp_path: Path) -> None:
    copy = tagged_repository(tmp_path / "copy", [sentence])
    with pytest.raises(DataError, match=complaint):
        fetch(TAGGED, copy, tmp_path / "cache")


@pytest.mark.parametrize(
    ("wanted", "row", "complaint"),
    [
        (
            TAGGED,
            {"tokens": None, "ner_tags": ["O"]},
            "row 1: expected lists of words and tags, got [None",
        ),
        (QUESTIONS, {"answers": [{"text": "A", "answer_start": 0}]}, "question a: expected lists text"),
        (
            QUESTIONS,
            {"answers": {"text": ["A", "B"], "answer_start": [0]}},
            "question a: expected lists text",
        ),
    ],
)
def test_rows_of_another_shape_are_refused(
    wanted: HubConfig, row: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    whole = {"id": "a", "title": "T", "context": "A.", "question": "Who?", **row}
    for split in SPLITS.values():
        (copy / f"{split}.jsonl").write_text(json.dumps(whole) + "\n")
    with pytest.raises(DataError, match=re.escape(complaint)):
        fetch(wanted, copy, tmp_path / "cache")


def test_another_layout_is_refused_by_name(tmp_path: Path) -> None:
    copy = tagged_repository(tmp_path / "copy")
    missing = TAGGED.model_copy(update={"columns": ("tokens", "tags")})
    with pytest.raises(DataError, match="expected a column 'tags', got id, tokens, ner_tags"):
        fetch(missing, copy, tmp_path / "cache")
    other = TAGGED.model_copy(update={"splits": {**SPLITS, "train": "learn"}})
    with pytest.raises(DataError, match="expected data files with a split 'learn', got: "):
        fetch(other, copy, tmp_path / "cache")
    with pytest.raises(DataMissingError, match="name a local copy of the repository"):
        (tmp_path / "empty").mkdir()
        fetch(TAGGED, tmp_path / "empty", tmp_path / "cache")
    with pytest.raises(DataMissingError, match="absent: no such directory"):
        fetch(TAGGED, tmp_path / "absent", tmp_path / "cache")


def test_a_loading_script_is_never_run(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "copy.py").write_text(f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n")
    with pytest.raises((DataError, DataMissingError)):
        fetch(TAGGED, copy, tmp_path / "cache")
    assert not (tmp_path / "ran").exists()


def test_without_a_network_or_the_package_one_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: Any, **__: Any) -> None:
        raise ConnectionError("Couldn't reach 'nobody/nothing' on the Hub")

    monkeypatch.setattr(hub, "find_outage", lambda address: None)
    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(DataMissingError) as refusal:
        fetch(TAGGED, "nobody/nothing", tmp_path / "cache")
    assert refusal.value.exit_code == 3
    assert "nobody/nothing at revision main from the Hub: Couldn't reach" in str(refusal.value)
    assert "data.repository=DIR" in str(refusal.value)
    assert "or, without it: ask" in str(refusal.value)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(PackageMissingError, match=r"datasets .*pip install .*\[hub\].*; or, without it: ask"):
        fetch(TAGGED, "nobody/nothing", tmp_path / "cache")


@pytest.mark.parametrize(
    ("failure", "reason"),
    [("hangs", "no answer within"), ("500", "answered 500"), ("html", "as a proxy does")],
)
def test_a_hub_that_does_not_work_is_asked_once(
    failure: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if failure == "hangs":
        monkeypatch.setattr(hub, "ANSWER_SECONDS", 0.5)
    with tracker_server(failure) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        for repository in ("nobody/nothing", "nobody/other"):
            with pytest.raises(DataMissingError, match=f"{repository} .*{reason}.*data.repository=DIR"):
                fetch(TAGGED.model_copy(update={"repository": repository}), repository, tmp_path / "cache")
        assert len(server.requests) == 1


@pytest.mark.parametrize("error", [TimeoutError("timed out"), URLError(TimeoutError("timed out"))])
def test_the_limit_of_the_socket_gives_the_same_reason_as_that_of_the_thread(
    error: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expire(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(hub, "urlopen", expire)
    assert hub.find_outage(f"http://of-no-other-test/{type(error).__name__}") == "no answer within 10 s"


@pytest.mark.parametrize("answer", [None, "401"])
def test_a_hub_that_answers_is_left_to_its_library(
    answer: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionError("asked by the library")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with tracker_server(answer) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        with pytest.raises(DataMissingError, match="asked by the library"):
            fetch(TAGGED, "nobody/nothing", tmp_path / "cache")


def test_a_run_reads_the_local_copy_that_it_names_and_files_in_place_win(tmp_path: Path) -> None:
    names = ["id", "tokens", "pos_tags", "chunk_tags", "ner_tags"]
    copy = tmp_path / "copy"
    copy.mkdir()
    row = dict(zip(names, ["0", ["Ann"], ["NNP"], ["B-NP"], ["B-PER"]], strict=True))
    for split in SPLITS.values():
        (copy / f"{split}.jsonl").write_text(json.dumps(row) + "\n")
    key = "task.sources.paper.conll2003.hub"
    counts = [f"{key}.{unit}.{split}=1" for unit in ("rows", "tokens") for split in SPLITS]
    own = tmp_path / "local" / "conll2003"
    choices = ["task=ner", "data=paper", f"paths.local={own.parent}", *counts]
    config = run_config(*choices, f"data.repository={copy}", root=tmp_path)
    corpus = sources.prepare(config.task, config.data, config.paths, lambda _: None)
    assert corpus.files["train"].paths[0].read_text() == "Ann NNP B-NP B-PER\n\n"
    own.mkdir(parents=True)
    for split in SPLITS:
        (own / f"{split}.conll").write_text("Bob B-PER\n")
    config = run_config(*choices, root=tmp_path)
    corpus = sources.prepare(config.task, config.data, config.paths, lambda _: None)
    assert corpus.files["train"].paths == (own / "train.conll",)


def test_splits_that_are_not_asked_for_are_not_fetched(tmp_path: Path) -> None:
    """Settings are chosen without the test data: a copy need not even have them."""
    copy = tmp_path / "copy"
    copy.mkdir()
    names = ["id", "tokens", "pos_tags", "chunk_tags", "ner_tags"]
    row = dict(zip(names, ["0", ["Ann"], ["NNP"], ["B-NP"], ["B-PER"]], strict=True))
    for split in ("train", "dev"):
        (copy / f"{SPLITS[split]}.jsonl").write_text(json.dumps(row) + "\n")
    key = "task.sources.paper.conll2003.hub"
    counts = [f"{key}.{unit}.{split}=1" for unit in ("rows", "tokens") for split in ("train", "dev")]
    choices = ["task=ner", "data=paper", f"paths.local={tmp_path}", f"data.repository={copy}", *counts]
    config = run_config(*choices, root=tmp_path)
    corpus = sources.prepare(config.task, config.data, config.paths, lambda _: None, ("train", "dev"))
    assert corpus.files.keys() == {"train", "dev"}
    with pytest.raises(DataError, match="test"):
        sources.prepare(config.task, config.data, config.paths, lambda _: None)


def test_a_repository_for_a_corpus_that_is_not_on_the_hub_is_refused(tmp_path: Path) -> None:
    config = run_config("task=ner", "+data.repository=copy", root=tmp_path)
    with pytest.raises(UsageError, match=r"data\.repository: world \(sample\) is not read from the Hub"):
        sources.prepare(config.task, config.data, config.paths, lambda _: None)


def test_splits_may_share_a_file(tmp_path: Path) -> None:
    names = {"train": "all.txt", "dev": "all.txt", "test": "test.txt"}
    copy = str(tagged_repository(tmp_path / "copy"))
    wanted = TAGGED.model_copy(update={"repository": copy, "splits": {**SPLITS, "dev": "train"}})
    directory = hub.fetch(wanted, names, tmp_path / "cache", "", lambda _: None)
    assert (directory / "all.txt").read_text() == (directory / "test.txt").read_text()
    with pytest.raises(DataError, match="expected 3 rows in 'train', got 2"):
        hub.fetch(
            wanted.model_copy(update={"rows": {"dev": 3}}), names, tmp_path / "cache", "", lambda _: None
        )


@pytest.mark.parametrize("task", TASKS)
def test_every_entry_of_a_task_is_complete(task: str) -> None:
    entries = dict(read_config(TaskConfig, compose(f"task={task}")["task"]).sources["paper"])
    entries.pop("default")
    for name, entry in entries.items():
        corpus = read_config(CorpusConfig, entry, name)
        if corpus.hub is None:
            continue
        assert set(corpus.hub.splits) == set(sources.SPLITS)
        assert all(isinstance(file, str) for file in (corpus.train, corpus.dev, corpus.test))
        assert {"train", "test"} <= set(corpus.hub.rows)
        assert len(corpus.hub.columns) == {"tokens": 4, "pairs": 3, "questions": 5}[corpus.hub.kind]
        assert len(corpus.hub.revision) == 40 or corpus.hub.tokens, "neither pinned nor counted"
