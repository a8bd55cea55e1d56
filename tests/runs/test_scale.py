"""Costs at the paper's sizes: what is extrapolated must meet what is measured at another size."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmo_bench.bilm.settings import BilmConfig
from elmo_bench.cli import scale as command
from elmo_bench.cli.main import main
from elmo_bench.config import read_config
from elmo_bench.encoders.protocol import EncoderCard
from elmo_bench.runs import scale
from elmo_bench.runs.scale import CORPORA, Linear, Numbering, Text, Training
from tests.support.composition import pretraining

Output = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--processes", "0"), 2, "--processes 0: expected a positive number"),
        (("--text", "absent.txt"), 3, "absent.txt: no such file (--text)"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_measured(
    words: tuple[str, ...], code: int, message: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(scale, "measure_numbering")
    assert main(["scale", *words]) == code
    assert message in capsys.readouterr().err


def test_three_texts_give_a_plane() -> None:
    plane = Linear(fixed=5.0, per_type=3.0, per_sentence=2.0)
    texts = [Text(1, 10, 100), Text(1, 10, 300), Text(1, 50, 100)]
    found = scale.fit_linear(texts, tuple(int(plane.of(text)) for text in texts))
    assert found == plane


def test_memory_that_is_computed_is_what_another_text_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale, "TIMED_TOKENS", 200_000)
    monkeypatch.setattr(scale, "TRACED_TOKENS", 400_000)
    monkeypatch.setattr("elmo_bench.bilm.training.text.TOKENS_PER_CHUNK", 1 << 15)
    found = scale.measure_numbering(tmp_path, log=lambda _: None)
    assert found.tokens_per_second > 0
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(scale, "TRACED_TOKENS", 800_000)
    text, numbering, training = scale.trace_text(tmp_path / "other", 50_000, 2)
    # Numbering has two peaks at different moments; their sum is an upper bound.
    assert numbering <= found.memory.of(text) <= 1.5 * numbering
    assert found.kept.of(text) == pytest.approx(training, rel=0.05)


@pytest.fixture
def tiny(tmp_path: Path) -> BilmConfig:
    values = pretraining(tmp_path, "bilm=tiny", "corpus=.")
    return read_config(BilmConfig, values["bilm"])


@pytest.mark.parametrize("negatives", [60, 0])
def test_a_step_takes_time_and_memory_by_tokens(
    negatives: int, tiny: BilmConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale, "TRACED_TOKENS", 200_000)
    monkeypatch.setattr(scale, "ROWS", (64, 1024))  # tiny needs little for a token, and pages are counted
    tiny = tiny.model_copy(update={"negatives": negatives})
    found = scale.measure_training(tiny, scale.read_text(None), log=lambda _: None)
    assert found.step_seconds(scale.ROWS[1] * tiny.batches.window) > 0
    assert 1e3 < found.bytes_per_token < 1e6  # some hundred numbers for each token
    assert found.parameters > tiny.vocabulary * tiny.architecture.projection_dim


def test_what_breaks_first_is_named(capsys: Output, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    numbering = Numbering(1e6, Linear(0.0, 100.0, 10.0), Linear(0.0, 100.0, 50.0))
    training = Training(10**6, 0.5, 1e-3, 1e5, "float32")
    monkeypatch.setattr(scale, "measure_numbering", lambda parent, log: numbering)
    monkeypatch.setattr(scale, "measure_training", lambda config, text, log: training)
    monkeypatch.setattr(scale, "read_text", lambda path: None)
    assert main(["scale", "bilm=tiny", f"paths.cache={tmp_path}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("measured: numbering 1.0 M tokens/s, 100 bytes a type")
    shares = {line.partition(":")[0]: float(line.split()[-2]) for line in lines[1:-1]}
    assert {"store of squad", "store of all six"} <= shares.keys()
    assert lines[-1].startswith("first to break: ")


def test_the_needs_are_products_of_what_was_measured(tiny: BilmConfig) -> None:
    numbering = Numbering(1e6, Linear(0.0, 100.0, 10.0), Linear(0.0, 100.0, 50.0))
    training = Training(10**6, 0.5, 1e-3, 1e5, "float32")
    config = tiny.model_copy(update={"epochs": 10.0, "steps": None})
    needs = {need.what: need.amount for need in command.find_needs(numbering, training, config, 2, disk=1e12)}
    text, tokens = scale.ONE_BILLION, config.batches.tokens
    assert needs["numbering the One Billion Word text: time"] == text.tokens / 1e6
    steps = 10 * text.tokens / tokens
    expected = steps * (0.5 + 1e-3 * tokens / 2)
    assert needs["pre-training tiny, 10 epochs: time"] == pytest.approx(expected)
    card = EncoderCard("", "", 3, 2 * config.architecture.projection_dim)
    halves = 2 * card.dim * 2 + card.dim  # two layers, and the one half of layer 0, of two bytes a number
    corpus = CORPORA["squad"]
    assert needs["store of squad: disk"] == pytest.approx(corpus.examples * corpus.tokens * halves)
