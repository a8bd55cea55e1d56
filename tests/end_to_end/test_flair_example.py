"""examples/flair_encoder: an encoder outside the package, as a user runs it."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from elmo_bench import directories, load_encoder
from elmo_bench.testing import check_encoder
from elmo_bench.testing.encoders import temporary_context, unusual_sentences
from elmo_bench.types import DataError, DataMissingError, Words
from tests.conftest import PROJECT
from tests.support.processes import finish, places

EXAMPLE = PROJECT / "examples" / "flair_encoder"
REAL = PROJECT.parent / "shared" / "models" / "flair_news_fast"
SENTENCES = [("Mary", "sold", "the", "old", "boat", "."), ("No",), ("It", "cost", "3.50", "€", "!")]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As --config-dir registers it, for one test."""
    monkeypatch.setattr(directories, "_own", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    directories.add_directory(EXAMPLE)
    yield
    sys.modules.pop("flair", None)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the same layout with random weights."""
    folder = tmp_path_factory.mktemp("flair")
    characters = ["<unk>", "\n", *" abcdefghijklmnopqrstuvwxyz.,TM"]
    config = {
        "model_type": "flair_char_lm",
        "hidden_size": 12,
        "num_layers": 1,
        "unk_id": 0,
        "start_marker": "\n",
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "chars.json").write_text(json.dumps(characters))
    generator = torch.Generator().manual_seed(4)
    shapes = {
        "encoder.weight": (len(characters), 5),
        "rnn.weight_ih_l0": (48, 5),
        "rnn.weight_hh_l0": (48, 12),
        "rnn.bias_ih_l0": (48,),
        "rnn.bias_hh_l0": (48,),
    }
    arrays = {
        f"{direction}.{name}": torch.rand(shape, generator=generator) - 0.5
        for direction in ("forward", "backward")
        for name, shape in shapes.items()
    }
    save_file(arrays, folder / "model.safetensors")
    return folder


def plugin(directory: Path) -> Any:
    return importlib.import_module("flair").Flair(directory)


@torch.no_grad()
def expected(directory: Path, words: Words) -> np.ndarray[Any, Any]:
    """By the definition, with torch's own LSTM, one sentence at a time."""
    arrays = {name: array.float() for name, array in load_file(directory / "model.safetensors").items()}
    characters = json.loads((directory / "chars.json").read_text(encoding="utf-8"))
    text = " ".join(words)
    forward = states_of(arrays, characters, "forward", text)
    backward = states_of(arrays, characters, "backward", text[::-1]).flip(0)
    vectors, first = [], 0
    for word in words:
        vectors.append(torch.cat([forward[first + len(word) - 1], backward[first]]))
        first += len(word) + 1
    return torch.stack(vectors).numpy()


def states_of(arrays: dict[str, Tensor], characters: list[str], direction: str, text: str) -> Tensor:
    """The state after every character of a text, the line feed before it left out."""
    ids = [characters.index(one) if one in characters else 0 for one in f"\n{text}"]
    embedding = arrays[f"{direction}.encoder.weight"]
    hidden = arrays[f"{direction}.rnn.weight_hh_l0"].shape[1]
    lstm = nn.LSTM(embedding.shape[1], hidden)
    prefix = f"{direction}.rnn."
    lstm.load_state_dict(
        {name.removeprefix(prefix): one for name, one in arrays.items() if name.startswith(prefix)}
    )
    states: Tensor = lstm(embedding[torch.tensor(ids)])[0]
    return states[1:]


def test_it_holds_the_contract(tiny: Path) -> None:
    card = check_encoder(plugin(tiny))
    assert (card.layer_count, card.dim) == (1, 24)
    assert card.parameters == sum(one.numel() for one in load_file(tiny / "model.safetensors").values())


def test_the_vectors_are_the_states_that_the_definition_names(tiny: Path, tmp_path: Path) -> None:
    sentences = [*unusual_sentences(), *SENTENCES]
    found = plugin(tiny).find(temporary_context(tmp_path)).load().layers(sentences)
    for words, layers in zip(sentences, found, strict=True):
        assert np.abs(layers[0] - expected(tiny, words)).max() < 1e-5


def test_wrong_directories_are_explained(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match=r"config\.json: no such file \(encoder\.directory\)"):
        plugin(tmp_path).find(temporary_context(tmp_path))
    for name in ("config.json", "chars.json", "model.safetensors"):
        (tmp_path / name).write_bytes((tiny / name).read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"model\.safetensors: expected the arrays of two"):
        plugin(tmp_path).find(temporary_context(tmp_path)).load()
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(DataError, match=r"config\.json:1: expected a flair_char_lm"):
        plugin(tmp_path).find(temporary_context(tmp_path))


def test_a_user_runs_it(tiny: Path, tmp_path: Path) -> None:
    words = ["task=ner", "encoder=flair", f"encoder.directory={tiny}", "debug=fast", *places(tmp_path)]
    code, output, errors = finish("--config-dir", str(EXAMPLE), *words)
    assert code == 0, errors
    assert "flair" in output + errors


@pytest.mark.skipif(not REAL.is_dir(), reason=f"{REAL} is not here")
def test_the_published_model_gives_its_own_states() -> None:
    encoder = load_encoder("flair", config_dir=EXAMPLE, directory=REAL)
    assert (encoder.layer_count, encoder.dim) == (1, 2048)
    for words, layers in zip(SENTENCES, encoder.embed(SENTENCES), strict=True):
        assert np.abs(layers[0] - expected(REAL, words)).max() < 1e-5


@pytest.mark.skipif(not REAL.is_dir(), reason=f"{REAL} is not here")
def test_a_user_runs_it_with_the_published_model(tmp_path: Path) -> None:
    words = ["task=ner", "encoder=flair", f"encoder.directory={REAL}", "debug=fast", *places(tmp_path)]
    code, _, errors = finish("--config-dir", "examples/flair_encoder", *words)
    assert code == 0, errors
