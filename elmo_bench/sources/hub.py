"""Corpora of the Hugging Face Hub: rows of a pinned revision, written once as files and counted."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from elmo_bench.config import HubConfig
from elmo_bench.extras import import_extra
from elmo_bench.files import make_once
from elmo_bench.hashing import hash_file, hash_value
from elmo_bench.types import DataError, DataMissingError, Log

NO_LABEL = "-"  # of the SNLI release; a number below zero on the Hub
FACTS = "hub.json"  # next to the files: their origin, and the number of rows of each

ANSWER_SECONDS = 10.0  # for a Hub that does not answer; the library itself would try for minutes

Row = dict[str, Any]


def fetch(hub: HubConfig, names: Mapping[str, str], directory: Path, get: str, log: Log) -> Path:
    """A directory with one file per split under the given names; two splits may share a file."""
    local = Path(hub.repository).is_dir()
    if not local and hub.repository.count("/") != 1:  # an id is owner/name
        raise DataMissingError(f"{hub.repository}: no such directory (data.repository)")
    content = hash_tree(Path(hub.repository)) if local else None
    recipe = hash_value({"hub": hub.model_dump(mode="json"), "names": dict(names), "content": content})

    def write(partial: Path) -> None:
        log(f"reading {describe(hub, local)}, once")
        counted = {}
        for split, name in names.items():
            if (partial / name).exists():
                continue  # dev made of training articles, or test used as dev
            rows = load_rows(hub, split, local, partial / ".arrow", get)
            path = partial / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8", newline="\n") as file:
                counted[split] = write_rows(hub, rows, file.write)
            for same in (other for other in names if names[other] == name):
                check_counts(hub, same, counted[split], describe(hub, local))
        shutil.rmtree(partial / ".arrow", ignore_errors=True)
        facts = {
            "repository": Path(hub.repository).name if local else hub.repository,
            "revision": hub.revision,
            "counts": counted,
            "sha256": {name: hash_file(partial / name) for name in sorted(set(names.values()))},
        }
        (partial / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")

    return make_once(directory / recipe[:12], write, log)


def describe(hub: HubConfig, local: bool) -> str:
    """The name of a corpus in messages."""
    return hub.repository if local else f"{hub.repository} at revision {hub.revision} from the Hub"


def hash_tree(directory: Path) -> str:
    """The contents of a local copy, so that a changed copy is read again."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return hash_value([[path.relative_to(directory).as_posix(), hash_file(path)] for path in files])


def load_rows(hub: HubConfig, split: str, local: bool, cache: Path, get: str) -> Iterable[Row]:
    """The rows of one split, with class names instead of class indices."""
    alternative = f"or, without it: {get}" if get else "or set paths.local to your own files"
    datasets = import_extra("datasets", f"{hub.repository}: reading it", alternative)
    if not local and not datasets.config.HF_HUB_OFFLINE and (outage := find_outage(hub_address())):
        raise _unreachable(describe(hub, local), outage, alternative)
    datasets.disable_progress_bars()
    try:
        rows = datasets.load_dataset(
            hub.repository,
            hub.name,
            split=hub.splits[split],
            revision=None if local else hub.revision,
            cache_dir=str(cache),
        )
    except OSError as error:  # no network, no such repository, no such revision, an empty directory
        raise _unreachable(describe(hub, local), first_line(error), alternative) from None
    except (ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        # a missing split or configuration, files that do not match, or a loading script
        raise DataError(
            f"{describe(hub, local)}: expected data files with a split {hub.splits[split]!r}, "
            f"got: {first_line(error)}"
        ) from None
    if absent := [name for name in hub.columns if name not in rows.column_names]:
        raise DataError(
            f"{describe(hub, local)}: expected a column {absent[0]!r}, got {', '.join(rows.column_names)}"
        )
    return name_classes(rows.select_columns(list(hub.columns)))


def hub_address() -> str:
    """The server of the Hub, or the mirror that the environment names."""
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


@cache
def find_outage(address: str) -> str | None:
    """Why the Hub cannot be used, if it cannot; asked once, so that a plan of many runs waits once."""
    answers: list[str | None] = [_no_answer()]

    def ask() -> None:
        answers[0] = _ask(address)

    # A thread, because neither the resolution of names nor a server that sends slowly has a limit of its own.
    asking = Thread(target=ask, daemon=True)
    asking.start()
    asking.join(ANSWER_SECONDS)
    return answers[0]


def _ask(address: str) -> str | None:
    try:
        with urlopen(f"{address}/api/datasets?limit=1", timeout=ANSWER_SECONDS) as reply:
            kind = reply.headers.get_content_type()
    except HTTPError as error:
        error.close()
        return f"{address} answered {error.code}" if error.code >= 500 else None
    except OSError as error:
        # The limits of the socket and of the thread end together: whichever is first, the reason is the same.
        expired = isinstance(getattr(error, "reason", error), TimeoutError)
        return _no_answer() if expired else f"{address}: {error}"
    return None if kind == "application/json" else f"{address} answered with {kind}, as a proxy does"


def _no_answer() -> str:
    return f"no answer within {ANSWER_SECONDS:.0f} s"


def _unreachable(where: str, reason: str, alternative: str) -> DataMissingError:
    return DataMissingError(
        f"{where}: {reason}. Try again with a network, or name a local copy "
        f"of the repository with data.repository=DIR; {alternative}"
    )


def first_line(error: Exception) -> str:
    """The first line of an error's message, to stand inside a sentence."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")


def name_classes(rows: Any) -> Iterator[Row]:
    """Rows with class names instead of the repository's class indices."""
    names: dict[str, list[str]] = {}
    for column, feature in rows.features.items():
        inner = getattr(feature, "feature", feature)  # of a list
        if hasattr(inner, "names"):
            names[column] = inner.names

    def named(column: str, value: Any) -> Any:
        if isinstance(value, list):
            return [named(column, item) for item in value]
        return names[column][value] if value is not None and value >= 0 else NO_LABEL

    for row in rows:
        yield {column: named(column, value) if column in names else value for column, value in row.items()}


def write_rows(hub: HubConfig, rows: Iterable[Row], write: Callable[[str], object]) -> dict[str, int]:
    """Write the rows in the conventional format of their type; return the numbers of rows and tokens.

    The order of columns is: words and their tags, the task's own tag last; premise, hypothesis, label;
    id, title, context, question, answers.
    """
    counts: Counter[str] = Counter()

    def counted() -> Iterator[list[Any]]:
        for row in rows:
            counts["rows"] += 1
            yield [row[column] for column in hub.columns]

    if hub.kind == "tokens":
        for columns in counted():
            write(token_lines(hub, columns, counts["rows"]))
            counts["tokens"] += len(columns[0])
    elif hub.kind == "pairs":
        for premise, hypothesis, label in counted():
            pair = {"gold_label": label, "sentence1": premise, "sentence2": hypothesis}
            write(json.dumps(pair, ensure_ascii=False) + "\n")
    else:
        write(
            json.dumps({"version": "1.1", "data": list(articles(hub, counted()))}, ensure_ascii=False) + "\n"
        )
    return dict(counts)


def token_lines(hub: HubConfig, columns: list[Any], number: int) -> str:
    """One sentence in columns and the blank line after it."""
    if not all(isinstance(column, list) for column in columns):
        raise DataError(f"{hub.repository}: row {number}: expected lists of words and tags, got {columns}")
    lines = list(zip(*columns, strict=False))
    for line in lines:
        for value in line:
            if not isinstance(value, str) or not value or any(map(str.isspace, value)):
                raise DataError(
                    f"{hub.repository}: row {number}: expected words and tags without blanks, got {value!r}"
                )
    if len({len(column) for column in columns}) != 1:
        lengths = ", ".join(
            f"{len(column)} {name}" for name, column in zip(hub.columns, columns, strict=True)
        )
        raise DataError(f"{hub.repository}: row {number}: expected lists of one length, got {lengths}")
    return "".join(" ".join(line) + "\n" for line in lines) + "\n"


def articles(hub: HubConfig, rows: Iterable[list[Any]]) -> Iterator[dict[str, Any]]:
    """Questions in the order of the rows, grouped by article and paragraph as in the SQuAD release."""
    for title, of_article in groupby(rows, key=lambda row: row[1]):
        paragraphs = []
        for context, questions in groupby(of_article, key=lambda row: row[2]):
            asked = [
                {"id": identifier, "question": question, "answers": answers_of(hub, identifier, answers)}
                for identifier, _, _, question, answers in questions
            ]
            paragraphs.append({"context": context, "qas": asked})
        yield {"title": title, "paragraphs": paragraphs}


def answers_of(hub: HubConfig, identifier: str, answers: Any) -> list[dict[str, Any]]:
    """Answers as objects; the Hub stores texts and starts in two lists."""
    match answers:
        case {"text": list(texts), "answer_start": list(starts)} if len(texts) == len(starts):
            return [{"answer_start": at, "text": text} for text, at in zip(texts, starts, strict=True)]
    raise DataError(
        f"{hub.repository}: question {identifier}: expected lists text and answer_start of one length, "
        f"got {answers}"
    )


def check_counts(hub: HubConfig, split: str, counts: Mapping[str, int], where: str) -> None:
    """Compare with the published sizes, because re-uploads are often altered."""
    for unit, expected in (("rows", hub.rows), ("tokens", hub.tokens)):
        if split in expected and counts[unit] != expected[split]:
            raise DataError(
                f"{where}: expected {expected[split]:,} {unit} in {hub.splits[split]!r}, "
                f"got {counts[unit]:,}; this is not the published corpus. To use it anyway, set "
                f"task.sources.paper.CORPUS.hub.{unit}.{split}={counts[unit]}"
            )
