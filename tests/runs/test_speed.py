"""What records say of an encoder's cost is measured, and is the same for a run that reads a filled store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from elmo_bench.encoders.protocol import EncoderCard, FoundEncoder, Layers
from elmo_bench.runs import execution, inputs
from elmo_bench.runs.execution import run_job
from elmo_bench.runs.speed import Stopwatch, describe_encoder
from elmo_bench.types import Words
from tests.support.caches import copy_cache
from tests.support.composition import run_config

CARD = EncoderCard("slow", "f" * 64, layer_count=1, dim=2, parameters=7)


class Slow:
    fingerprint, layer_count, dim = CARD.fingerprint, CARD.layer_count, CARD.dim

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        time.sleep(0.02)
        return [np.zeros((1, len(words), 2), dtype=np.float32) for words in sentences]


def timed(*sentences: Words) -> Stopwatch:
    stopwatch = Stopwatch()
    stopwatch.time(FoundEncoder(CARD, Slow)).load().layers(sentences)
    return stopwatch


def test_a_stopwatch_counts_words_and_seconds() -> None:
    stopwatch = timed(("a", "b"), ("c",))
    assert stopwatch.tokens == 3
    assert stopwatch.seconds >= 0.02


def test_loading_is_not_counted() -> None:
    def load() -> Slow:
        time.sleep(0.05)
        return Slow()

    stopwatch = Stopwatch()
    stopwatch.time(FoundEncoder(CARD, load)).load()
    assert stopwatch == Stopwatch(0, 0.0)


def test_the_longest_measurement_is_kept_for_runs_that_read_the_store(tmp_path: Path) -> None:
    config = run_config("task=ner", root=tmp_path)
    assert describe_encoder(config, CARD, 4, Stopwatch()).speed is None
    first = describe_encoder(config, CARD, 4, timed(("a", "b")))
    assert first.speed is not None
    assert (first.layers, first.dim, first.parameters, first.token_bytes) == (1, 2, 7, 4)
    assert describe_encoder(config, CARD, 4, timed(("a",))).speed == first.speed
    assert describe_encoder(config, CARD, 4, Stopwatch()).speed == first.speed
    longer = describe_encoder(config, CARD, 4, timed(("a", "b", "c"))).speed
    assert longer is not None
    assert longer.tokens == 3
    assert describe_encoder(config, CARD, 4, Stopwatch()).speed == longer


def test_a_run_that_is_stopped_while_it_learns_has_kept_its_measurement(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that resumes reads the store, and encodes nothing that could be measured."""
    run_and_stop(world, tmp_path, monkeypatch, execution, "fit_module")


def test_a_run_that_is_stopped_when_the_store_is_full_has_kept_a_measurement(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_and_stop(world, tmp_path, monkeypatch, inputs, "Material")


def run_and_stop(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str
) -> None:
    """Stop a run where it calls something, after it has encoded."""

    def stop(*_: object) -> None:
        raise RuntimeError("stopped")

    root = copy_cache(world, tmp_path)
    config = run_config("task=ner", "encoder=untrained", "bilm@encoder.bilm=tiny", "limit=5", root=root)
    monkeypatch.setattr(module, name, stop)
    with pytest.raises(RuntimeError, match="stopped"):
        run_job(config, lambda message: None)
    assert len(list((root / "cache" / "speeds").glob("*.speed"))) == 1


@pytest.mark.parametrize("content", ["", "{}", "[1]"])
def test_a_damaged_measurement_is_measured_again(tmp_path: Path, content: str) -> None:
    config = run_config("task=ner", root=tmp_path)
    describe_encoder(config, CARD, 4, timed(("a", "b")))
    (path,) = (tmp_path / "cache" / "speeds").iterdir()
    path.write_text(content)
    speed = describe_encoder(config, CARD, 4, timed(("a",))).speed
    assert speed is not None
    assert speed.tokens == 1
