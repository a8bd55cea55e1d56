"""CoVe against torch's own LSTM, and files of every age, damaged and hostile ones too."""

from __future__ import annotations

import os
import pickle
import struct
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from elmo_bench.encoders.cove import Cove
from elmo_bench.encoders.cove.lstm import CoveEncoder, read_checkpoint, read_layers
from elmo_bench.encoders.protocol import EncoderContext
from elmo_bench.testing import check_encoder
from elmo_bench.testing.encoders import temporary_context, unusual_sentences
from elmo_bench.types import DataError, DataMissingError, UsageError, Words

INPUT, HIDDEN = 12, 7
KNOWN = (
    "the",
    "The",
    "old",
    "bank",
    "of",
    "river",
    "opened",
    "at",
    ",",
    "said",
    "mary",
    ".",
    "שלום",
    "a\u00a0b",
)


@pytest.fixture(scope="module")
def lstm() -> nn.LSTM:
    """Of the published file's layout, and smaller."""
    torch.manual_seed(5)
    return nn.LSTM(INPUT, HIDDEN, num_layers=2, bidirectional=True).eval()


@pytest.fixture(scope="module")
def vectors() -> dict[str, list[float]]:
    return {
        word: (np.random.default_rng(row).integers(-9, 9, INPUT) / 8).tolist()
        for row, word in enumerate(KNOWN)
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, lstm: nn.LSTM, vectors: dict[str, list[float]]) -> Path:
    folder = tmp_path_factory.mktemp("cove")
    rows = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in vectors.items())
    (folder / "glove.txt").write_text(rows, encoding="utf-8")
    torch.save(lstm.state_dict(), folder / "weights.pth", _use_new_zipfile_serialization=False)
    return folder


@pytest.fixture
def context(tmp_path: Path) -> EncoderContext:
    return temporary_context(tmp_path)


def plugin(folder: Path, **changes: Any) -> Cove:
    settings = {
        "weights": folder / "weights.pth",
        "vectors": folder / "glove.txt",
        "lower_case": True,
        "get": {},
    }
    return Cove(**{**settings, **changes})


def load(folder: Path, context: EncoderContext, **changes: Any) -> CoveEncoder:
    encoder = plugin(folder, **changes).find(context).load()
    assert isinstance(encoder, CoveEncoder)
    return encoder


@torch.no_grad()
def expected(lstm: nn.LSTM, vectors: dict[str, list[float]], words: Words) -> np.ndarray[Any, Any]:
    """Both layers by torch's LSTM of one and of two layers, one sentence at a time."""
    rows = torch.tensor([vectors.get(word, [0.0] * INPUT) for word in words])
    first = nn.LSTM(INPUT, HIDDEN, num_layers=1, bidirectional=True)
    first.load_state_dict({name: one for name, one in lstm.state_dict().items() if "_l0" in name})
    return torch.stack([first(rows)[0], lstm(rows)[0]]).numpy()


def test_the_layers_are_those_of_torch_one_sentence_at_a_time(
    folder: Path, context: EncoderContext, lstm: nn.LSTM, vectors: dict[str, list[float]]
) -> None:
    sentences = [tuple(word.lower() for word in words) for words in unusual_sentences()]
    found = load(folder, context).layers(sentences)
    for words, layers in zip(sentences, found, strict=True):
        assert layers.shape == (2, len(words), 2 * HIDDEN)
        assert np.abs(layers - expected(lstm, vectors, words)).max() < 1e-6


def test_it_holds_the_contract_and_its_settings_have_fingerprints(folder: Path, lstm: nn.LSTM) -> None:
    card = check_encoder(plugin(folder), variants=[plugin(folder, lower_case=False)])
    assert (card.layer_count, card.dim) == (2, 2 * HIDDEN)
    assert card.parameters == sum(weight.numel() for weight in lstm.parameters())


def test_a_word_without_a_vector_is_zero_and_only_lower_case_is_tried(
    folder: Path, context: EncoderContext, lstm: nn.LSTM, vectors: dict[str, list[float]]
) -> None:
    lower, cased = load(folder, context), load(folder, context, lower_case=False)
    words = ("The", "OLD", "1987", "bank")  # numbers have no vector of their own, as in the published code
    for encoder, read_as in ((lower, ("the", "old", "1987", "bank")), (cased, words)):
        (layers,) = encoder.layers([words])
        assert np.abs(layers - expected(lstm, vectors, read_as)).max() < 1e-6


def test_the_vectors_are_converted_once(folder: Path, context: EncoderContext, tmp_path: Path) -> None:
    messages: list[str] = []
    logged = EncoderContext(context.name, context.paths, context.trainer, messages.append)
    load(folder, logged)
    load(folder, logged)
    assert len(messages) == 1
    assert "converting" in messages[0]
    encoder = load(folder, logged)
    assert not encoder._vectors.matrix.flags.writeable


def test_checkpoints_of_every_age_are_read(folder: Path, lstm: nn.LSTM, tmp_path: Path) -> None:
    state = lstm.state_dict()
    torch.save(state, tmp_path / "zip.pth")
    prefixed = OrderedDict((f"rnn.{name}", array) for name, array in state.items())
    torch.save(prefixed, tmp_path / "prefixed.pth", _use_new_zipfile_serialization=False)
    write_as_in_2017(tmp_path / "2017.pth", state)
    for name in ("zip.pth", "prefixed.pth", "2017.pth"):
        assert (tmp_path / name).read_bytes()[:2] == (b"PK" if name == "zip.pth" else b"\x80\x02")
        read = [layer.state_dict() for layer in read_layers(tmp_path / name)]
        for key, array in state.items():
            number = 1 if "_l1" in key else 0
            assert torch.equal(read[number][key.replace("_l1", "_l0")], array)


class _Storage:
    """Stands for the storage of an array on the GPU that it was trained on."""

    def __init__(self, array: Tensor, key: str) -> None:
        self.array, self.key = array, key


class _Array:
    """Pickles as tensors did before PyTorch 0.4."""

    def __init__(self, storage: _Storage) -> None:
        self.storage = storage

    def __reduce__(self) -> tuple[Any, ...]:
        array = self.storage.array
        return torch._utils._rebuild_tensor, (self.storage, 0, tuple(array.shape), array.stride())


def write_as_in_2017(path: Path, state: dict[str, Tensor]) -> None:
    """The layout of PyTorch 0.3: pickles one after another, then the storages; tensors of `cuda:0`."""
    storages = [_Storage(array, str(number)) for number, array in enumerate(state.values())]

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: object) -> Any:
            if not isinstance(value, _Storage):
                return None
            return ("storage", torch.cuda.FloatStorage, value.key, "cuda:0", value.array.numel(), None)

    with path.open("wb") as file:
        for header in (torch.serialization.MAGIC_NUMBER, 1001, {"little_endian": True}):
            pickle.dump(header, file, protocol=2)
        Pickler(file, protocol=2).dump(
            OrderedDict((name, _Array(storage)) for name, storage in zip(state, storages, strict=True))
        )
        pickle.dump([storage.key for storage in storages], file, protocol=2)
        for storage in storages:
            file.write(struct.pack("<q", storage.array.numel()) + storage.array.numpy().tobytes())


class Hostile:
    """Runs a command when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.target}",)


def hostile_files(folder: Path, target: Path, state: dict[str, Tensor]) -> Iterable[Path]:
    content = {**state, "weight_ih_l0": Hostile(target)}
    torch.save(content, folder / "zip.pth")
    torch.save(content, folder / "legacy.pth", _use_new_zipfile_serialization=False)
    (folder / "plain.pth").write_bytes(pickle.dumps(Hostile(target)))
    return sorted(folder.glob("*.pth"))


def test_a_hostile_file_is_refused_and_executes_nothing(lstm: nn.LSTM, tmp_path: Path) -> None:
    target = tmp_path / "executed"
    files = list(hostile_files(tmp_path, target, lstm.state_dict()))
    assert len(files) == 3
    for path in files:
        with pytest.raises(DataError, match=rf"{path.name}: expected a PyTorch file with tensors alone"):
            read_checkpoint(path)
    assert not target.exists()
    pickle.loads(files[1].read_bytes())  # noqa: S301  (our own file: it does what it is suspected of)
    assert target.exists()


@pytest.mark.parametrize("kept", [0, 1, 40, 500, -9])
@pytest.mark.parametrize("is_zip", [False, True])
def test_a_cut_file_is_refused(lstm: nn.LSTM, tmp_path: Path, kept: int, is_zip: bool) -> None:
    path = tmp_path / "cut.pth"
    torch.save(lstm.state_dict(), path, _use_new_zipfile_serialization=is_zip)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=r"cut\.pth: expected a PyTorch file"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bias_ih_l1": None}, "differ in bias_ih_l1"),
        ({"bias_ih_l2": torch.zeros(4 * HIDDEN)}, "differ in bias_ih_l2"),
        (
            {"weight_ih_l1": torch.zeros(4 * HIDDEN, 3)},
            r"weight_ih_l1 to be \(28, 14\) finite numbers, got \(28, 3\)",
        ),
        ({"bias_hh_l0_reverse": torch.full((4 * HIDDEN,), torch.nan)}, "bias_hh_l0_reverse to be .* finite"),
        ({"weight_hh_l0": 3}, "expected tensors by name"),
    ],
)
def test_other_arrays_are_refused(
    lstm: nn.LSTM, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    state = {name: one for name, one in {**lstm.state_dict(), **change}.items() if one is not None}
    torch.save(state, tmp_path / "other.pth")
    with pytest.raises(DataError, match=message):
        read_layers(tmp_path / "other.pth")


def test_missing_and_wrong_files_are_named_with_what_to_do(folder: Path, context: EncoderContext) -> None:
    get = {"weights": "fetch the weights", "vectors": "unpack GloVe"}
    for key, remedy in get.items():
        with pytest.raises(
            DataMissingError, match=rf"absent: no such file \(encoder\.{key}\)\. To get it: {remedy}"
        ):
            plugin(folder, **{key: folder / "absent"}, get=get).find(context)
    small = folder / "small.txt"
    small.write_text("the 1 2\n", encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"small\.txt: the weights read vectors of 12 dimensions, these have 2"
    ):
        plugin(folder, vectors=small).find(context)
