"""The vectors of every architecture are those of transformers, whatever the batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from elmo_bench.encoders.transformer.engine import Pooling
from elmo_bench.testing import check_encoder
from elmo_bench.testing.encoders import relative_distance
from tests.support.tiny_transformers import (
    ARCHITECTURES,
    SENTENCES,
    load_tiny,
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
