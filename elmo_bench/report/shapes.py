"""The shape of what reports read from the free parts of a record, which may come from a stranger.

A record is checked field by field when it is read, but its identity, configuration and environment are as
their run had them. Here is what a report relies on; all other keys are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import AllowInfNan, BaseModel, ConfigDict, Field, ValidationError

from elmo_bench.records import REMEDY, Record
from elmo_bench.types import DamagedFileError

FACTS = ("elmo.where", "words.kind", "data.fraction", "numerics")  # of every run, in its identity
Number = Annotated[float, AllowInfNan(False)]


class SomeKeys(BaseModel):
    """Some keys of an object."""

    model_config = ConfigDict(extra="ignore", strict=True)


class Elmo(SomeKeys):
    where: str | None = None
    layers: str | int | None = None
    lam: Number | None = Field(default=None, alias="lambda")
    layer_norm: bool | None = None


class Words(SomeKeys):
    kind: str | None = None


class Optimiser(SomeKeys):
    lr: Number | None = None


class Training(SomeKeys):
    optimiser: Optimiser = Optimiser()


class Task(SomeKeys):
    name: str | None = None
    settings: dict[str, Any] = {}
    elmo: Elmo = Elmo()
    words: Words = Words()
    training: Training = Training()


class Data(SomeKeys):
    fraction: Number | None = None
    limit: int | None = None


class Identity(SomeKeys):
    elmo: Elmo = Elmo()
    words: Words = Words()
    data: Data = Data()
    task: Task = Task()
    store: dict[str, Any] = {}
    trainer: dict[str, Any] = {}
    numerics: int | None = None
    encoder_fingerprint: str | None = None
    words_sha256: str | None = None


class Encoder(SomeKeys):
    name: str = ""
    plugin: str = ""
    named_after: str | None = None


class Configuration(SomeKeys):
    task: Task = Task()
    encoder: Encoder | None = None
    data: dict[str, Any] = {}
    size_fraction: Number = 1.0


class Environment(SomeKeys):
    commit: str | None = None
    version: str = ""
    dirty: bool | None = None


class Mix(SomeKeys):
    weights: list[Number] = []
    gamma: Number | None = None


def require_shape(file: Path, record: Record) -> None:
    """Refuse a record that a command cannot read, although its fields are those of one."""
    missing = (f"{key} is missing" for key in find_missing(record))
    if reason := next(chain(find_misshapen(record), missing), None):
        raise DamagedFileError(f"{file}: not a record of a run: {reason}; {REMEDY}")


def find_missing(record: Record) -> Iterator[str]:
    """What everybody reads of an identity, and this one does not have."""
    for key in FACTS:
        values: Any = record.identity
        for part in key.split("."):
            values = values.get(part) if isinstance(values, dict) else None
        if values is None:
            yield f"identity.{key}"


def find_misshapen(record: Record) -> Iterator[str]:
    """The values that no report can read, each with the reason."""
    parts: Mapping[str, tuple[type[SomeKeys], Any]] = {
        "identity": (Identity, record.identity),
        "config": (Configuration, record.config),
        "environment": (Environment, record.environment),
        **{f"learnt.{place}": (Mix, mix) for place, mix in record.learnt.items() if mix is not None},
    }
    for name, (shape, value) in parts.items():
        try:
            shape.model_validate(value)
        except ValidationError as error:
            for detail in error.errors():
                yield f"{'.'.join([name, *map(str, detail['loc'])])}: {detail['msg']}"
