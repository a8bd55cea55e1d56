"""Published runs keep their names: moving or renaming code must not orphan them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.catalog import read_task
from elmo_bench.config import RunConfig, read_config
from elmo_bench.encoders.find import find_encoder
from elmo_bench.identity import identify
from elmo_bench.records import Record, condition_of, drop_directories
from tests.conftest import PROJECT
from tests.support.composition import compose, run_config
from tests.support.report_records import read_records

PUBLISHED = {path.stem: record for path, record in read_records(PROJECT / "results" / "records")}


@pytest.fixture(scope="module")
def machine() -> dict[str, Any]:
    """The parts of a configuration that are not kept in a record or not part of a condition."""
    values = compose("task=ner")
    return {key: values[key] for key in ("paths", "encoder")}


def test_there_are_published_runs() -> None:
    assert PUBLISHED


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_published_condition_is_what_its_configuration_makes(name: str, machine: dict[str, Any]) -> None:
    record = PUBLISHED[name]
    identity = recompute(record, machine)
    assert json.loads(json.dumps(identity)) == record.identity
    assert name == f"{record.condition}-s{record.seed}" == f"{condition_of(identity)}-s{record.seed}"


def test_a_published_record_says_what_its_size_prescribes_of_the_training_set() -> None:
    """A report reads it there and not in conf/size, which the reader of a record need not have."""
    assert [name for name, record in PUBLISHED.items() if "size_fraction" not in record.config] == []


def test_no_published_record_has_a_path_of_the_machine() -> None:
    found = (PROJECT / "results" / "records").rglob("*.json")
    contents = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in found}
    assert [name for name, content in contents.items() if drop_directories(content) != content] == []


@pytest.mark.parametrize("name", sorted(PUBLISHED)[:1])
def test_where_the_code_of_a_task_lies_is_not_part_of_a_condition(name: str, machine: dict[str, Any]) -> None:
    record = PUBLISHED[name]
    moved = recompute(record, machine, plugin="somewhere.else.NerTask")
    assert condition_of(moved) == record.condition


@pytest.mark.parametrize("choice", ["encoder=untrained", "encoder=sample encoder.untrained=true"])
def test_the_untrained_encoder_is_still_that_of_published_runs(choice: str, tmp_path: Path) -> None:
    published = {
        record.identity["encoder_fingerprint"]
        for record in PUBLISHED.values()
        if record.encoder == "untrained_sample"
    }
    config = run_config("task=ner", *choice.split(), root=tmp_path)
    found = find_encoder(config.encoder, config.paths, config.trainer, lambda message: None)
    assert published == {found.card.fingerprint}


def recompute(record: Record, machine: dict[str, Any], plugin: str = "") -> dict[str, Any]:
    """The identity that today's code makes of a record's configuration."""
    task = {**record.config["task"], "plugin": plugin or read_task(record.task).plugin}
    recorded = record.config["encoder"] or {}  # older records have no context
    read = {key: recorded[key] for key in ("layers", "context") if key in recorded}
    encoder = {**machine["encoder"], **read}
    config = read_config(RunConfig, {**record.config, **machine, "task": task, "encoder": encoder})
    known = record.identity
    identity = identify(
        config,
        record.task_version,
        known["data_sha256"],
        known["encoder_fingerprint"],
        known["words_sha256"],
    )
    return {**identity, "numerics": known["numerics"]}  # a later version of the same arithmetic
