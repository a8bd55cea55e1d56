"""The vectors of every architecture are those of transformers, whatever the batch."""

from __future__ import annotations

import random
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from elmo_bench.encoders.transformer.files import read_files
from elmo_bench.encoders.transformer.pieces import WordPieces
from elmo_bench.encoders.transformer.plugin import Pooling
from elmo_bench.encoders.transformer.windows import plan_windows
from elmo_bench.testing import check_encoder
from elmo_bench.testing.encoders import relative_distance
from elmo_bench.types import UsageError
from tests.support.tiny_transformers import (
    ARCHITECTURES,
    DECODERS,
    POSITIONS,
    SENTENCES,
    TEXT,
    load_tiny,
    model_layers,
    save_tiny,
    settings_of,
    transformers_layers,
)

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("transformers")
    for name in ARCHITECTURES:
        save_tiny(root / name, name)
    return root


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_layer_is_that_of_transformers(name: str, pooling: Pooling, models: Path) -> None:
    ours = load_tiny(models / name, pooling).layers(SENTENCES)
    for words, layers in zip(SENTENCES, ours, strict=True):
        expected = transformers_layers(models / name, words, pooling)
        assert layers.shape == expected.shape
        assert np.abs(layers - expected).max() <= TOLERANCE, words


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_holds_the_contract(name: str, models: Path) -> None:
    plugin = settings_of(models / name)
    variants = [settings_of(models / name, "first"), settings_of(models / name, window=32)]
    check_encoder(plugin, variants=variants, tolerance=TOLERANCE)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_long_text_is_read_in_windows(name: str, models: Path) -> None:
    chooser = random.Random(3)
    words = tuple(chooser.choices(" ".join(TEXT).split(), k=3 * POSITIONS))
    cutter = WordPieces(read_files(models / name, name))
    pieces = cutter.of(words)
    size = POSITIONS - len(cutter.before) - len(cutter.after)
    expected = np.zeros((3, len(words), 16), np.float32)
    for window in plan_windows(np.array([len(word) for word in pieces]), size, name in DECODERS):
        ids = [*cutter.before, *chain(*pieces[window.read]), *cutter.after]
        states = model_layers(models / name, ids)
        for word in range(window.taken.start, window.taken.stop):
            first = len(cutter.before) + sum(map(len, pieces[window.read.start : word]))
            expected[:, word] = states[:, first : first + len(pieces[word])].mean(axis=1)
    (layers,) = load_tiny(models / name).layers([words])
    assert np.abs(layers - expected).max() <= TOLERANCE


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_document_of_20000_words_is_read(name: str, models: Path) -> None:
    words = tuple(random.Random(4).choices(" ".join(TEXT).split(), k=20_000))
    (layers,) = load_tiny(models / name).layers([words])
    assert layers.shape == (3, 20_000, 16) and np.isfinite(layers).all()


def test_a_word_longer_than_a_window_costs_its_neighbours_nothing(models: Path) -> None:
    """Of a word with more pieces than half a window, the beginning and the end are read."""
    encoder = load_tiny(models / "roberta")
    half = (POSITIONS - 2) // 2  # two pieces are special
    head, tail = "y" * (half - half // 2 - 1), "z" * (half // 2)  # one piece is the space
    text, shortened = ("the", head + "x" * 10_000 + tail, "bank"), ("the", head + tail, "bank")
    long, short = encoder.layers([text, shortened])
    assert relative_distance(long, short) <= TOLERANCE


def test_a_word_that_only_just_fits_is_whole(models: Path) -> None:
    text = ("the", "x" * (POSITIONS - 20), "bank")
    (layers,) = load_tiny(models / "roberta").layers([text])
    assert np.abs(layers - transformers_layers(models / "roberta", text, "mean")).max() <= TOLERANCE


def test_the_window_can_be_smaller_than_the_models(models: Path) -> None:
    words = tuple(" ".join(TEXT).split())
    whole = load_tiny(models / "llama").layers([words])[0]
    cut = load_tiny(models / "llama", window=16).layers([words])[0]
    assert relative_distance(whole[:, :4], cut[:, :4]) <= TOLERANCE  # the context on the left is the same
    assert relative_distance(whole[1:, -4:], cut[1:, -4:]) > TOLERANCE
    with pytest.raises(UsageError, match=r"^encoder\.window=4: .* can read 3 pieces of text at once"):
        load_tiny(models / "llama", window=4)


def test_sentences_that_occur_twice_have_arrays_of_their_own(models: Path) -> None:
    first, other, second = load_tiny(models / "bert").layers([SENTENCES[0], SENTENCES[1], SENTENCES[0]])
    assert np.array_equal(first, second) and not np.shares_memory(first, second)
    assert other.shape[1] == len(SENTENCES[1])


@pytest.mark.parametrize("name", ["bert", "llama", "modernbert"])
def test_half_precision_is_close(name: str, models: Path) -> None:
    exact = load_tiny(models / name).layers(SENTENCES)
    half = load_tiny(models / name, precision="bfloat16").layers(SENTENCES)
    for one, other in zip(exact, half, strict=True):
        assert 0 < relative_distance(one, other) < 0.05
