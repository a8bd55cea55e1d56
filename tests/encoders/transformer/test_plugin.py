"""The settings of `encoder=transformer`: card, fingerprint, twin, and a real model."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from elmo_bench.encoders.protocol import EncoderContext
from elmo_bench.encoders.transformer import engine, loading
from elmo_bench.encoders.transformer.files import CONFIG, TOKENIZER, TOKENIZER_SETTINGS, WEIGHTS
from elmo_bench.encoders.transformer.packages import quiet
from elmo_bench.testing import check_encoder
from elmo_bench.testing.encoders import relative_distance, temporary_context
from elmo_bench.types import PackageMissingError, UsageError
from tests.conftest import PROJECT
from tests.support.tiny_transformers import (
    ARCHITECTURES,
    card_of,
    load_tiny,
    save_tiny,
    settings_of,
    transformers_layers,
)

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("bert"), "bert")


@pytest.fixture
def model(bert: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return shutil.copytree(bert, tmp_path / "model")


@pytest.fixture
def context(tmp_path: Path) -> EncoderContext:
    return temporary_context(tmp_path / "paths")


def test_a_card_needs_no_weights(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "load_file", None)
    card = card_of(settings_of(bert))
    weights = sum(value.numel() for value in load_file(bert / "model.safetensors").values())
    assert (card.layer_count, card.dim, card.parameters) == (3, 16, weights)


def test_a_fingerprint_is_that_of_the_content(bert: Path, model: Path) -> None:
    assert card_of(settings_of(model)) == card_of(settings_of(bert))


@pytest.mark.parametrize("file", [CONFIG, TOKENIZER, TOKENIZER_SETTINGS, WEIGHTS])
def test_every_file_that_is_read_is_in_the_fingerprint(file: str, bert: Path, model: Path) -> None:
    if file == WEIGHTS:
        weights = load_file(model / file)
        weights["embeddings.word_embeddings.weight"][7, 3] += 1e-3
        save_file(weights, model / file)
    else:
        (model / file).write_text((model / file).read_text() + "\n")
    assert card_of(settings_of(model)).fingerprint != card_of(settings_of(bert)).fingerprint


@pytest.mark.parametrize("changed", [{"pooling": "first"}, {"window": 32}, {"precision": "bfloat16"}])
def test_a_setting_that_changes_vectors_is_in_the_fingerprint(changed: dict[str, object], bert: Path) -> None:
    assert card_of(settings_of(bert, **changed)).fingerprint != card_of(settings_of(bert)).fingerprint


def test_weights_in_half_precision_are_computed_in_full(model: Path) -> None:
    weights = {name: value.half() for name, value in load_file(model / "model.safetensors").items()}
    save_file(weights, model / "model.safetensors")
    half = load_tiny(model).layers([("the", "old", "bank")])[0]
    save_file({name: value.float() for name, value in weights.items()}, model / "model.safetensors")
    assert np.array_equal(load_tiny(model).layers([("the", "old", "bank")])[0], half)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_twin_has_the_same_sizes_and_other_weights(
    name: str, tmp_path: Path, context: EncoderContext
) -> None:
    plugin = settings_of(save_tiny(tmp_path / name, name))
    before = torch.random.get_rng_state()
    twin = plugin.untrained(context)
    card, trained = twin.find(context).card, plugin.find(context).card
    assert torch.equal(torch.random.get_rng_state(), before)
    assert replace(card, fingerprint="") == replace(trained, fingerprint="")
    assert card.fingerprint != trained.fingerprint
    elsewhere = twin.find(temporary_context(tmp_path / "elsewhere"))
    assert elsewhere.card == card
    words = ("the", "old", "bank")
    ours, theirs = (found.load().layers([words])[0] for found in (elsewhere, plugin.find(context)))
    assert relative_distance(ours, theirs) > 0.01


def test_the_twin_is_written_once(bert: Path, context: EncoderContext) -> None:
    lines: list[str] = []
    logged = replace(context, log=lines.append)
    twins = [settings_of(bert, pooling).untrained(logged).find(logged) for pooling in ("first", "last")]
    assert len(list((context.paths.cache / "models").glob("untrained-*"))) == 1
    assert twins[0].card.fingerprint != twins[1].card.fingerprint and lines == []


def test_a_device_that_is_not_there_is_named(bert: Path, context: EncoderContext) -> None:
    found = settings_of(bert).find(replace(context, device="nowhere"))
    with pytest.raises(UsageError, match=r"^encoder\.device=nowhere: PyTorch cannot use it"):
        found.load()


def test_an_architecture_with_other_layers_than_it_says_is_refused(
    bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = engine.LoadedTransformer._hidden_states
    monkeypatch.setattr(engine.LoadedTransformer, "_hidden_states", lambda *inputs: read(*inputs)[1:])
    with pytest.raises(Exception, match="expected 3 layers of 16 for two pieces, got 2"):
        load_tiny(bert)


@pytest.mark.parametrize("absent", ["transformers", "tokenizers", "huggingface_hub"])
def test_without_the_extra_one_line_says_how_to_install_it(
    absent: str, bert: Path, context: EncoderContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(PackageMissingError, match=rf"needs the package {absent}") as caught:
        settings_of(bert).find(context).load()
    assert "-e '.[transformers]'" in str(caught.value) and "\n" not in str(caught.value)


def test_nothing_imports_transformers_before_it_is_needed() -> None:
    code = (
        "import sys, elmo_bench.encoders.transformer.plugin\n"
        "print(sorted({'transformers', 'tokenizers', 'huggingface_hub'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_quiet_leaves_no_trace() -> None:
    levels = [logging.getLogger(name).level for name in ("transformers", "huggingface_hub")]
    bars = transformers.utils.logging.is_progress_bar_enabled()
    with quiet():
        assert not transformers.utils.logging.is_progress_bar_enabled()
    assert transformers.utils.logging.is_progress_bar_enabled() == bars
    assert [logging.getLogger(name).level for name in ("transformers", "huggingface_hub")] == levels


def test_loading_and_encoding_print_nothing(
    model: Path, context: EncoderContext, capfd: pytest.CaptureFixture[str]
) -> None:
    weights = load_file(model / "model.safetensors")
    weights = {name: value for name, value in weights.items() if "pooler" not in name}
    save_file({**weights, "cls.predictions.bias": torch.zeros(3)}, model / "model.safetensors")
    settings = json.loads((model / "tokenizer_config.json").read_text())
    (model / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": 4}))
    settings_of(model).find(context).load().layers([("the", "old", "bank", "of", "the", "river")])
    settings_of(model).untrained(context).find(context).load()
    output = capfd.readouterr()
    assert output.out == output.err == ""


@pytest.fixture(scope="module")
def minilm(shared: Path) -> Path:
    """A real model, in half precision on the disk, whose tokeniser is limited to 128 pieces."""
    return shared / "models" / "minilm_l6"


def test_a_real_model_has_the_vectors_of_transformers(minilm: Path, tmp_path: Path) -> None:
    text = "Mr. Smith's unbelievable jack-o'-lantern cost $3.50 in Mönchengladbach , the paper reported ."
    sentences = [tuple(text.split()), ("Yes", "!"), tuple(text.split() * 8)]
    found = settings_of(minilm).find(temporary_context(tmp_path))
    assert (found.card.layer_count, found.card.dim) == (7, 384)
    for words, layers in zip(sentences, found.load().layers(sentences), strict=True):
        assert np.abs(layers - transformers_layers(minilm, words, "mean")).max() <= TOLERANCE


def test_a_real_model_holds_the_contract(minilm: Path) -> None:
    check_encoder(settings_of(minilm), variants=[settings_of(minilm, "first")], tolerance=TOLERANCE)
