"""Pre-training that goes on from another model: start=DIR."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmo_bench.bilm.files import export_arrays
from elmo_bench.bilm.training.language_model import SOFTMAX_FILE, load_language_model
from elmo_bench.bilm.training.perplexity import measure_perplexity
from elmo_bench.bilm.training.text import encode_sentences
from elmo_bench.data.text import read_sentences
from elmo_bench.types import BenchError
from tests.support.composition import pretrain_one, pretraining

STILL = ["bilm.steps=1", "bilm.descent.lr=1e-12"]  # so little that the weights stay


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("start")
    (directory / "text").mkdir()
    chooser = random.Random(1)
    for name, count in (("train.txt", 60), ("heldout.txt", 10)):
        lines = [" ".join(chooser.choices(["a", "b", "c", "d"], k=5)) for _ in range(count)]
        (directory / "text" / name).write_text("\n".join(lines) + "\n")
    pretrain_one(pretraining(directory, *command(directory), "bilm.steps=20"))
    return directory


def command(root: Path, *overrides: str) -> list[str]:
    return ["bilm=tiny", f"corpus={root}/text", *overrides]


def go_on(root: Path, *overrides: str) -> tuple[Path, dict[str, Any]]:
    """The directory and record of a training from the first model."""
    settings = command(root, f"start={root}/models/tiny", "name=more", *overrides)
    record = pretrain_one(pretraining(root, *settings))
    return record.parent, json.loads(record.read_text())


def test_training_goes_on_from_the_weights_softmax_and_vocabulary(root: Path, tmp_path: Path) -> None:
    target, record = go_on(root, *STILL, f"paths.models={tmp_path}")
    before, after = load_language_model(root / "models" / "tiny"), load_language_model(target)
    found = export_arrays(after.bilm)
    for name, array in export_arrays(before.bilm).items():
        assert np.abs(found[name].astype(np.float64) - array.astype(np.float64)).max() < 1e-7, name
    np.testing.assert_allclose(after.softmax.weight.detach(), before.softmax.weight.detach(), atol=1e-7)
    assert after.vocabulary == before.vocabulary
    text = encode_sentences(read_sentences([root / "text" / "heldout.txt"]))
    measured = measure_perplexity(before, text)
    assert record["heldout"]["average"] == pytest.approx(measured.average, rel=1e-5)
    assert record["start"] == "tiny"


def test_a_loaded_model_learns_with_dropout(root: Path, tmp_path: Path) -> None:
    """Models are loaded ready for inference; learning must not keep them so."""
    losses = []
    for share in ("0.0", "0.5"):
        _, record = go_on(root, *STILL, f"bilm.dropout={share}", f"paths.models={tmp_path / share}")
        losses.append(record["curve"][-1]["loss_forward"])
    assert losses[0] != pytest.approx(losses[1], rel=1e-3)


def test_a_model_in_the_published_layout_can_be_gone_on_from(root: Path, tmp_path: Path) -> None:
    source = load_language_model(root / "models" / "tiny")
    shutil.copytree(root / "models" / "tiny", tmp_path / "start")
    (tmp_path / "start" / SOFTMAX_FILE).unlink()
    (tmp_path / "start" / "record.json").unlink()  # a published model has no record of ours
    weight, bias = (parameter.detach().numpy() for parameter in source.softmax.parameters())
    np.savez(tmp_path / "start" / "softmax.npz", W=weight, b=bias)
    records = [
        go_on(root, *STILL, f"paths.models={tmp_path / str(number)}", *more)[1]
        for number, more in enumerate(([], [f"start={tmp_path}/start"]))
    ]
    assert records[0]["hashes"] == records[1]["hashes"]


@pytest.mark.parametrize(
    ("overrides", "code", "complaint"),
    [
        (["start=absent"], 3, "absent: no such model"),
        (["bilm.architecture.cell_dim=8"], 2, "bilm.architecture: expected the sizes of the model"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(
    root: Path, tmp_path: Path, overrides: list[str], code: int, complaint: str
) -> None:
    with pytest.raises(BenchError, match=complaint) as caught:
        go_on(root, f"paths.models={tmp_path}", f"paths.runs={tmp_path}", *overrides)
    assert caught.value.exit_code == code


@pytest.mark.parametrize("missing", [SOFTMAX_FILE, "vocabulary.txt"])
def test_a_start_without_its_softmax_or_words_is_refused(root: Path, tmp_path: Path, missing: str) -> None:
    shutil.copytree(root / "models" / "tiny", tmp_path / "start")
    (tmp_path / "start" / missing).unlink()
    with pytest.raises(BenchError, match=missing) as caught:
        go_on(root, f"start={tmp_path}/start", f"paths.models={tmp_path}", f"paths.runs={tmp_path}")
    assert caught.value.exit_code == 2


def test_the_words_to_predict_can_be_those_of_another_model(root: Path, tmp_path: Path) -> None:
    """Only then may the perplexities of two models be compared."""
    words = tmp_path / "words.txt"
    words.write_text("</S>\n<S>\nd\na\n<UNK>\n")
    settings = command(root, f"vocabulary={words}", *STILL, f"paths.models={tmp_path}")
    record = pretrain_one(pretraining(root, *settings))
    assert (record.parent / "vocabulary.txt").read_text() == words.read_text()
    assert json.loads(record.read_text())["heldout"]["oov_rate"] > 0.2  # b and c


def test_words_to_predict_with_a_start_are_refused(root: Path, tmp_path: Path) -> None:
    words = root / "models" / "tiny" / "vocabulary.txt"
    with pytest.raises(BenchError, match="vocabulary: expected null"):
        go_on(root, f"vocabulary={words}", f"paths.models={tmp_path}", f"paths.runs={tmp_path}")
