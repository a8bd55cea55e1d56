"""Small published records with fixed numbers, as the tests of report and compare need them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from elmo_bench.hashing import hash_file, hash_value
from elmo_bench.records import (
    EnsembleRecord,
    Record,
    RecordType,
    form_record,
    read_content,
    write_counts,
    write_record,
)
from elmo_bench.report.comparison import Referee, Run
from elmo_bench.report.summary import summarise
from elmo_bench.types import Counts

ELMO = {
    "where": "input",
    "layers": "all",
    "lambda": 0.1,
    "layer_norm": False,
    "dropout": 0.5,
    "gamma": "learned",
}
DEFAULTS = {key: value for key, value in ELMO.items() if key not in ("layers", "gamma")}
LEARNT = {"layers": [0, 1, 2], "weights": [0.2, 0.5, 0.3], "gamma": 1.0}
NONE = {"where": "none"}
EXAMPLES = 40


def rows(right: int) -> list[Counts]:
    """Counts of EXAMPLES examples of which so many are right."""
    return [{"correct": float(number < right), "answers": 1.0} for number in range(EXAMPLES)]


def curve(best: float, epochs: int = 6) -> list[dict[str, float]]:
    """A learning curve that rises to its best value in the last epoch but one."""
    steps = [0.3, 0.6, 0.8, 0.9, 1.0, 0.95][:epochs]
    return [{"epoch": float(n), "loss": 1.0 / n, "dev": best * step} for n, step in enumerate(steps, start=1)]


def make_record(task: str, seed: int, right: int, elmo: dict[str, Any], **changes: Any) -> Record:
    """One run; `changes` replaces fields, and those of `identity` are merged."""
    encoder = None if elmo == NONE else "sample"
    plain = {
        key: value
        for key, value in elmo.items()
        if elmo.get("layers") == "all" or key not in ("lambda", "layer_norm")
    }
    identity = {
        "task": {"name": task},
        "elmo": plain,
        "words": {"kind": "random", "dim": 50},
        "data": {"source": "sample", "corpus": None, "fraction": 1.0, "limit": None},
        "encoder_fingerprint": "e" * 64 if encoder else None,
        "words_sha256": None,
        "data_sha256": {"test": "7" * 64},
        "task_version": 1,
        "numerics": 1,
        **changes.pop("identity", {}),
    }
    score = 100 * right / EXAMPLES
    fields: dict[str, Any] = {
        "task": task,
        "task_version": identity["task_version"],
        "metric": "accuracy",
        "condition": hash_value(identity)[:12],
        "seed": seed,
        "source": "sample",
        "corpus": "world",
        "size": "sample",
        "encoder": encoder,
        "debug": False,
        "identity": identity,
        "config": {
            "task": {"name": task, "elmo": DEFAULTS},
            "size_fraction": changes.pop("size_fraction", 1.0),
        },
        "scores": {"dev": {"accuracy": score}, "test": {"accuracy": score}},
        "examples": {"train": 10, "dev": EXAMPLES, "test": EXAMPLES},
        "curve": curve(score),
        "best_epoch": 5,
        "learnt": {} if elmo == NONE else {"input": LEARNT},
        "words": {},
        "hashes": {"data/dev": "6" * 64, "data/test": "7" * 64},
        "parameters": {},
        "seconds": {},
        "environment": {"commit": "c" * 40, "dirty": False},
        **changes,
    }
    return Record.model_validate(fields)


def make_ensemble(members: list[Record], right: int, **changes: Any) -> EnsembleRecord:
    """What runs predict together."""
    score = {"accuracy": 100 * right / EXAMPLES}
    first = members[0]
    fields: dict[str, Any] = {
        "name": "f" * 12,
        "task": first.task,
        "task_version": 1,
        "metric": "accuracy",
        "source": first.source,
        "corpus": first.corpus,
        "size": first.size,
        "debug": False,
        "members": [
            {
                "condition": run.condition,
                "seed": run.seed,
                "encoder": run.encoder,
                "scores": run.scores,
                "weights_sha256": str(run.seed) * 64,
            }
            for run in members
        ],
        "scores": {"dev": score, "test": score},
        "examples": {"dev": EXAMPLES, "test": EXAMPLES},
        "hashes": {},
        "environment": {"commit": "c" * 40, "dirty": False},
        **changes,
    }
    return EnsembleRecord.model_validate(fields)


def make_model(**changes: Any) -> dict[str, Any]:
    """What a fine-tuned model's record.json holds, as fine-tuning writes it."""
    text = {
        "predictions": 2210,
        "tokens": 2010,
        "oov_rate": 0.25,
        "vocabulary_sha256": "v" * 64,
    }
    carried = {
        "before": {"forward": 98.0, "backward": 97.0, "average": 97.5, "predictions": 2210},
        "after": {"forward": 44.0, "backward": 43.0, "average": 43.5, "predictions": 2210},
    }
    figures = {
        "before": {"forward": 104.0, "backward": 102.5, "average": 103.25, **text},
        "after": {"forward": 46.0, "backward": 47.0, "average": 46.5, **text},
    }
    figures = {when: {**figures[when], "carried": carried[when]} for when in figures}
    return {
        "kind": "bilm",
        "identity": "1" * 64,
        "config": {"name": "small-ner-wikigold", "epochs": 1.0, "steps": None},
        "seed": 1,
        "start": "small",
        "finished": True,
        "steps": 90,
        "planned_steps": 90,
        "tokens": 30_000,
        "seconds": 60.5,
        "objective": "full softmax",
        "products": "bfloat16",
        "curve": [{"step": 90.0, "heldout_average": 46.5}],
        "heldout": figures["after"],
        "streams": {"text": figures},
        "corpus": {
            "train": {"train.txt": "t" * 64},
            "heldout": {"dev-text.txt": "h" * 64},
            "tokens": 30_000,
            "sentences": 1400,
            "types": 6000,
        },
        "finetuned": {
            "encoder": "small",
            "task": "ner",
            "source": "open",
            "corpus": "wikigold",
            "data_sha256": {"train": "5" * 64, "dev": "6" * 64, "test": "7" * 64},
        },
        "vocabulary": {"words": 10_000, "sha256": "v" * 64},
        "parameters": {"bilm": 1000, "softmax": 1000},
        "hashes": {"weights": "w" * 64},
        "environment": {"commit": "c" * 40, "dirty": False},
        **changes,
    }


def publish(directory: Path, record: Record, right: int) -> Run:
    """Write a record and its counts as `publish` does."""
    stem = directory / record.task / f"{record.condition}-s{record.seed}"
    counts = stem.with_suffix(".npz")
    write_counts(counts, {"dev": rows(right), "test": rows(right)})
    record = record.model_copy(update={"hashes": {**record.hashes, "counts.npz": hash_file(counts)}})
    write_record(stem.with_suffix(".json"), record)
    return Run(record, counts)


def publish_world(directory: Path, snli_fraction: float = 1.0) -> None:
    """Runs for several tables: NER of Table 1, SNLI of Tables 1 to 3 and Figure 1, some cells empty."""

    def make_snli(seed: int, right: int, elmo: dict[str, Any], train: int = 600, **changes: Any) -> Record:
        sizes = {"train": train, "dev": EXAMPLES, "test": EXAMPLES}
        return make_record("snli", seed, right, elmo, size_fraction=snli_fraction, examples=sizes, **changes)

    for seed, (before, after) in enumerate([(20, 27), (22, 27), (21, 25)], start=1):
        publish(directory, make_record("ner", seed, before, NONE), before)
        publish(directory, make_record("ner", seed, after, ELMO), after)
        publish(directory, make_snli(seed, before + 4, NONE), before + 4)
        for elmo, more in ((ELMO, 9), ({**ELMO, "layers": "last"}, 6), ({**ELMO, "where": "both"}, 8)):
            publish(directory, make_snli(seed, before + more, elmo), before + more)
        for elmo, right in ((NONE, before - 8), (ELMO, before - 2)):
            tenth = {"data": {"source": "sample", "corpus": None, "fraction": 0.1, "limit": None}}
            publish(directory, make_snli(seed, right, elmo, train=60, identity=tenth), right)
    control = {"encoder_fingerprint": "u" * 64}
    publish(directory, make_record("ner", 1, 20, ELMO, identity=control, encoder="untrained"), 20)


def summarise_records(records: list[Record]) -> str:
    """The small table after a sweep, of runs without counts: no gain has an interval."""
    return summarise([Run(record, Path("absent.npz")) for record in records], Referee({}))


def read_records(directory: Path) -> Iterator[tuple[Path, Record]]:
    """All published runs below a directory, in a fixed order."""
    return read_records_of(Record, directory)


def read_records_of(kind: type[RecordType], directory: Path) -> Iterator[tuple[Path, RecordType]]:
    """All published records of one kind below a directory, in a fixed order."""
    wanted = kind.model_fields["kind"].default
    for path in sorted(directory.rglob("*.json")):
        content = read_content(path)
        if content.get("kind") == wanted:
            yield path, form_record(kind, content, path)
