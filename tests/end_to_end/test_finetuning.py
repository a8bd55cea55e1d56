"""A biLM trained on with a task's own text: another encoder, measured before and after."""

from __future__ import annotations

import json
import random
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.bilm.training.language_model import load_language_model
from elmo_bench.bilm.training.perplexity import measure_fresh, measure_perplexity
from elmo_bench.bilm.training.text import encode_sentences
from elmo_bench.config import EncoderConfig, PathsConfig, TrainerConfig
from elmo_bench.encoders.find import find_encoder
from elmo_bench.sweep.finetuning import FinetuneCommand, locate_finetuning
from elmo_bench.types import UsageError
from tests.support.composition import compose, finetune_one, pretrain_one, pretraining
from tests.support.processes import finish

ONE_EPOCH = ("bilm.epochs=1", "bilm.patience=null", "bilm.descent.schedule=cosine")  # as the paper
WORDS = [f"word{number}" for number in range(30)]


def finetuning(root: Path, *overrides: str) -> dict[str, Any]:
    own = [f"data.{split}={root}/{split}.conll" for split in ("train", "dev", "test")]
    encoder = ["encoder=model", f"encoder.directory={root}/models/tiny"]
    settings = ["bilm.batches.tokens=64", "bilm.descent.lr=0.02", "bilm.products=float32", *ONE_EPOCH]
    chosen = ["task=ner", "data=files", *own, *encoder, *settings, *overrides]
    return pretraining(root, *chosen, entry="finetune")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of one text, and a task whose text has one word the model never saw and likes others."""
    directory = tmp_path_factory.mktemp("finetuning")
    chooser = random.Random(1)

    def lines(words: list[str], count: int) -> list[list[str]]:
        return [chooser.choices(words, k=chooser.randint(2, 9)) for _ in range(count)]

    (directory / "text").mkdir()
    for name, count in (("train.txt", 100), ("heldout.txt", 20)):
        (directory / "text" / name).write_text("".join(" ".join(line) + "\n" for line in lines(WORDS, count)))
    for split, count in (("train", 120), ("dev", 20), ("test", 5)):
        sentences = lines([*WORDS[:3], "unseen"], count)
        sentences.append(sentences[0])  # once more: a sentence is learnt from and measured once
        columns = ["".join(f"{word} _ _ O\n" for word in words) for words in sentences]
        (directory / f"{split}.conll").write_text("\n".join(columns))
    pretrain_one(pretraining(directory, "bilm=tiny", f"corpus={directory}/text"))
    return directory


@pytest.fixture(scope="module")
def tuned(root: Path) -> Path:
    return finetune_one(finetuning(root)).parent


def read_words(path: Path) -> list[tuple[str, ...]]:
    blocks = path.read_text().split("\n\n")
    sentences = [tuple(line.split()[0] for line in block.strip().split("\n")) for block in blocks]
    return list(dict.fromkeys(sentences))


def test_perplexity_is_measured_before_and_after_on_each_stream_of_the_dev_text(
    root: Path, tuned: Path
) -> None:
    assert tuned == root / "models" / "tiny-ner-own"
    record = json.loads((tuned / "record.json").read_text())
    text = encode_sentences(read_words(root / "dev.conll"))
    assert set(record["streams"]) == {"text"}
    for when, directory in (("before", root / "models" / "tiny"), ("after", tuned)):
        model = load_language_model(directory)
        expected = measure_perplexity(model, text)
        found = record["streams"]["text"][when]
        assert found["average"] == pytest.approx(expected.average, rel=1e-6)
        assert found["forward"] == pytest.approx(expected.forward, rel=1e-6)
        assert found["carried"]["average"] == pytest.approx(expected.carried.average, rel=1e-6)
        assert (found["predictions"], found["vocabulary_sha256"]) == (
            expected.predictions,
            model.vocabulary.sha256,
        )
        assert found["oov_rate"] == expected.oov_rate > 0.15  # the word that pre-training never saw
    streams = record["streams"]["text"]
    assert streams["after"]["average"] < 0.8 * streams["before"]["average"]


def test_one_epoch_over_each_different_sentence_of_the_training_text(root: Path, tuned: Path) -> None:
    record = json.loads((tuned / "record.json").read_text())
    sentences = read_words(root / "train.conll")
    assert record["finished"]
    assert record["corpus"]["sentences"] == len(sentences)
    assert record["tokens"] == sum(len(words) + 1 for words in sentences)
    assert record["finetuned"]["task"] == "ner" and record["start"] == "tiny"


def of_directory(path: Path) -> EncoderConfig:
    values = {"name": "x", "plugin": "elmo_bench.encoders.bilm.DirectoryBilm", "directory": path}
    return EncoderConfig.model_validate(values)


def test_the_result_is_an_encoder_with_its_own_fingerprint(root: Path, tuned: Path) -> None:
    paths = PathsConfig.model_validate(finetuning(root)["paths"])
    trainer = TrainerConfig.model_validate(finetuning(root)["trainer"])
    cards = [
        find_encoder(of_directory(place), paths, trainer, print).card
        for place in (root / "models" / "tiny", tuned)
    ]
    assert cards[0].fingerprint != cards[1].fingerprint
    assert cards[0].dim == cards[1].dim
    vocabularies = [(place / "vocabulary.txt").read_bytes() for place in (root / "models" / "tiny", tuned)]
    assert vocabularies[0] == vocabularies[1]


def test_every_seed_has_a_model_of_its_own(root: Path, tuned: Path) -> None:
    other = finetune_one(finetuning(root, "seed=2", "bilm.epochs=null", "bilm.steps=1")).parent
    assert (tuned.name, other.name) == ("tiny-ner-own", "tiny-ner-own-s2")
    assert [json.loads((one / "record.json").read_text())["seed"] for one in (tuned, other)] == [1, 2]


def test_again_it_is_done_and_stopped_it_ends_the_same(
    root: Path, tuned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finetune_one(finetuning(root))
    assert "already trained" in capsys.readouterr().out
    finetune_one(finetuning(root, "name=stopped", "limits.steps=3"))
    finetune_one(finetuning(root, "name=stopped"))
    assert "resuming from step-000000003" in capsys.readouterr().out
    for name in ("weights.safetensors", "softmax.safetensors"):
        assert (tuned / name).read_bytes() == (root / "models" / "stopped" / name).read_bytes()


PATIENT = (
    "bilm.descent.schedule=constant",
    "bilm.descent.lr=0.05",
    "bilm.epochs=40",
    "bilm.curve_every=4",
    "bilm.patience=3",
    "bilm.storage=float32",
)


def test_training_stops_when_dev_text_stops_improving_and_the_best_weights_are_kept(root: Path) -> None:
    directory = finetune_one(finetuning(root, *PATIENT, "name=patient")).parent
    record = json.loads((directory / "record.json").read_text())
    curve = [row["heldout_average"] for row in record["curve"]]
    best = min(range(len(curve)), key=curve.__getitem__)
    assert record["finished"] and record["stopped"] == "patience"
    assert record["steps"] == 4 * len(curve) == record["best_step"] + 3 * 4 < record["planned_steps"]
    assert record["best_step"] == 4 * (best + 1)
    assert curve[best] < curve[-1]  # the kept weights are not the last
    text = encode_sentences(read_words(root / "dev.conll"))
    measured = measure_fresh(load_language_model(directory), text)
    assert measured.average == pytest.approx(curve[best], rel=1e-6)


def test_a_patient_training_that_was_stopped_ends_the_same(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = finetune_one(finetuning(root, *PATIENT, "name=whole")).parent
    best = json.loads((whole / "record.json").read_text())["best_step"]
    capsys.readouterr()
    stopped = finetuning(root, *PATIENT, "name=halved", f"limits.steps={best + 2}")
    finetune_one(stopped)
    halved = finetune_one(finetuning(root, *PATIENT, "name=halved")).parent
    assert f"resuming from step-{best + 2:09}" in capsys.readouterr().out
    assert (whole / "weights.safetensors").read_bytes() == (halved / "weights.safetensors").read_bytes()


def test_patience_does_not_stop_training_in_the_first_epoch(root: Path) -> None:
    """Large steps make rows that are worse than the one before from the beginning."""
    wild = (*PATIENT, "bilm.descent.lr=1.0", "bilm.curve_every=1", "bilm.patience=1")
    record = json.loads(finetune_one(finetuning(root, *wild, "name=wild")).read_text())
    curve = [row["heldout_average"] for row in record["curve"]]
    epoch = record["planned_steps"] // 40
    assert any(later > earlier for earlier, later in pairwise(curve[: epoch - 1]))
    assert record["stopped"] == "patience" and epoch <= record["steps"] < record["planned_steps"]


def test_without_its_softmax_an_encoder_is_refused_and_the_file_is_named(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "models" / "tiny", tmp_path / "models" / "bare")
    (tmp_path / "models" / "bare" / "softmax.safetensors").unlink()
    own = [f"data.{split}={root}/{split}.conll" for split in ("train", "dev", "test")]
    places = [f"paths.{place}={tmp_path / place}" for place in ("models", "runs", "cache")]
    arguments = ["encoder=bare", "finetune=ner", "data=files", *own, *places]
    code, _, errors = finish(*arguments, script="pretrain.py")
    assert code == 2 and "Traceback" not in errors
    assert "bare: neither softmax.safetensors nor softmax.npz is there" in errors


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (["+bilm.vocabulary=7"], "bilm.vocabulary: the encoder decides this"),
        (["bilm.dropout=2"], "bilm.dropout: input should be less than 1"),
    ],
)
def test_what_the_encoder_decides_cannot_be_asked_for(
    root: Path, overrides: list[str], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        finetune_one(finetuning(root, *overrides))


def test_an_encoder_without_softmax_weights_cannot_be_trained_further(root: Path) -> None:
    values = {**finetuning(root), "encoder": compose("task=ner", "encoder=words")["encoder"]}
    with pytest.raises(UsageError, match="encoder=words: this encoder has no softmax weights"):
        finetune_one(values)


def test_models_of_one_name_in_two_directories_are_two_jobs(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "tiny"
    shutil.copytree(root / "models" / "tiny", other)
    jobs = [
        FinetuneCommand.model_validate(finetuning(root, *words))
        for words in ((), (f"encoder.directory={other}",))
    ]
    first, second = map(locate_finetuning, jobs)
    assert first.record == second.record and first.key != second.key
