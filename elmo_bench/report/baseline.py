"""The baseline of a condition: the runs that differ from it in ELMo alone. Every gain is over these."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection, Iterable

from elmo_bench.conditions import flatten, is_baseline
from elmo_bench.hashing import hash_value
from elmo_bench.records import Record

# The parts of an identity that tables vary. Runs that differ in any other part never share a cell or a gain.
VARIED = ("elmo", "store", "encoder_fingerprint", "words", "words_sha256", "data")


def baseline_of(record: Record, others: Iterable[Record]) -> str | None:
    """The condition of the baseline among other runs, or nothing where no run fits.

    A baseline has no ELMo, and the same task version, data, size and training settings. If several differ
    in their word vectors only, the one with the record's own vectors is taken, then the one with most runs.
    """
    if is_baseline(record):
        return None
    fitting = [other for other in others if is_baseline(other) and differs_in_elmo_alone(record, other)]
    counts = Counter((words_of(other) == words_of(record), other.condition) for other in fitting)
    if not counts:
        return None
    return max(counts, key=lambda key: (key[0], counts[key], key[1]))[1]


def differs_in_elmo_alone(first: Record, second: Record, besides: Collection[str] = ()) -> bool:
    """Whether two runs agree in everything but ELMo, word vectors and some settings of the task, if named."""
    return _comparable(first, besides) == _comparable(second, besides)


def _comparable(record: Record, besides: Collection[str]) -> tuple[object, ...]:
    return *place_of(record), record.task, setting_of(record, besides), *share_of(record)


def place_of(record: Record) -> tuple[str, str, str]:
    """Source, corpus and size of a run."""
    return record.source, record.corpus, record.size


def share_of(record: Record) -> tuple[float, int | None]:
    """How much of the training set a run has: the fraction, and the limit on its examples."""
    data = record.identity["data"]
    return data["fraction"], data.get("limit")


def is_whole(record: Record) -> bool:
    """Whether a run has all of the training set that its size prescribes."""
    return share_of(record) == (prescribed_fraction(record), None)


def describe_share(record: Record) -> list[str]:
    """How much of the training set a run has, in words; nothing where it has all."""
    fraction, limit = share_of(record)
    part = [f"{100 * fraction:g} % of the training set"] if fraction != 1 else []
    return part + ([f"{limit} training examples"] if limit else [])


def prescribed_fraction(record: Record) -> float:
    """The fraction of the training set that the run's size prescribes."""
    return float(record.config.get("size_fraction", 1.0))


def setting_of(record: Record, besides: Collection[str] = ()) -> str:
    """A short name of everything in an identity that no table varies; some settings may be left out."""
    values = {key: value for key, value in record.identity.items() if key not in VARIED}
    if besides:
        task = values["task"]
        settings = {key: value for key, value in flatten(task.get("settings", {})) if key not in besides}
        values["task"] = {**task, "settings": settings}
    return hash_value(values)[:12]


def at_any_rate(record: Record) -> Record:
    """A run without its learning rate, for comparisons in which dev chooses a rate."""
    identity = copy.deepcopy(record.identity)
    identity.get("task", {}).get("training", {}).get("optimiser", {}).pop("lr", None)
    return record.model_copy(update={"identity": identity})


def setting_at_any_rate(record: Record) -> str:
    """The setting of a run without its learning rate."""
    return setting_of(at_any_rate(record))


def rate_of(record: Record) -> float | None:
    """The learning rate of a run."""
    rate: float | None = record.identity.get("task", {}).get("training", {}).get("optimiser", {}).get("lr")
    return rate


def has_words(record: Record) -> bool:
    """Whether a run has word vectors of its own."""
    return bool(record.identity["words"]["kind"] != "none")


def words_of(record: Record) -> str:
    """A short name of a run's word vectors."""
    return hash_value([record.identity["words"], record.identity.get("words_sha256")])[:12]
