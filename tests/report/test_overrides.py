"""The overrides that a report prints for a condition make that condition."""

from __future__ import annotations

from typing import Any

import pytest

from elmo_bench.conditions import known_elmo, reduce_elmo
from elmo_bench.records import Record
from elmo_bench.report.overrides import choose_condition
from elmo_bench.report.published import read_published
from tests.conftest import PROJECT
from tests.support.composition import run_config
from tests.support.report_records import ELMO, NONE, make_record


@pytest.mark.slow
def test_the_overrides_of_published_conditions_make_them() -> None:
    seen, different = set(), []
    for run in read_published(PROJECT / "results" / "records").runs:
        words = choose_condition(run.record)
        if tuple(words) not in seen:
            seen.add(tuple(words))
            if make_condition(words) != condition_of(run.record):
                different.append(words)
    assert seen
    assert different == []


def make_condition(words: list[str]) -> tuple[object, ...]:
    config = run_config(*words)
    return reduce_elmo(known_elmo(config)), config.words.kind, config.data.fraction, config.tuning.text


def condition_of(record: Record) -> tuple[object, ...]:
    identity = record.identity
    tuning = "task" if record.tuned else "none"
    return identity["elmo"], identity["words"]["kind"], identity["data"]["fraction"], tuning


@pytest.mark.parametrize(
    ("elmo", "identity", "kind", "words"),
    [
        ({**ELMO, "encoder_context": "document"}, {}, None, ["encoder=sample", "encoder.context=document"]),
        ({**ELMO, "encoder_layers": [0, 6]}, {}, None, ["encoder=sample", "encoder.layers=[0,6]"]),
        (NONE, {"words": {"kind": "none"}}, None, ["elmo=none", "words=none"]),
        (NONE, {"words": {"kind": "file"}}, "none", ["elmo=none", "words=glove"]),
        (NONE, {"words": {"kind": "none"}}, "none", ["elmo=none"]),
        (NONE, {"trainer": {"precision": "bf16-mixed"}}, None, ["elmo=none", "trainer.precision=bf16-mixed"]),
        (ELMO, {"store": {"dtype": "int8"}}, None, ["encoder=sample", "store.dtype=int8"]),
        (ELMO, {"store": {"dtype": "float16"}}, None, ["encoder=sample"]),
    ],
)
def test_what_is_not_usual_is_chosen(
    elmo: dict[str, Any], identity: dict[str, Any], kind: str | None, words: list[str]
) -> None:
    record = make_record("ner", 1, 20, elmo, identity=identity)
    if kind:
        record.config["task"]["words"] = {"kind": kind}
    assert choose_condition(record) == ["task=ner", "data=sample", *words]
