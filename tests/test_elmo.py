"""The public class, and the command that writes vectors to a file."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file

import elmo_bench
from elmo_bench.bilm.engine.embedder import load_embedder
from elmo_bench.bilm.files import save_bilm
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.cli import embed, vector_files
from elmo_bench.cli.vector_files import Layout, VectorFile
from elmo_bench.elmo import Elmo
from elmo_bench.types import BenchError, DataError, DataMissingError, InterruptedRunError, UsageError

SENTENCES = [["The", "cat", "sat", "."], [], ["No", "."], ["Zürich", "is", "far", "from", "here", "."]]
Floats = NDArray[np.float32]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    options = BilmOptions(
        character_dim=4, filters=((1, 8), (3, 8)), highways=1, layers=2, cell_dim=24, projection_dim=8
    )
    save_bilm(BiLM(options, torch.Generator().manual_seed(0)), folder)
    return folder


def test_elmo_is_offered_by_the_package_without_loading_torch() -> None:
    assert elmo_bench.Elmo is Elmo
    program = "import sys, elmo_bench; assert 'torch' not in sys.modules; elmo_bench.nothing"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "has no attribute 'nothing'" in done.stderr


def test_embed_gives_all_layers_of_every_sentence(model: Path) -> None:
    for path in (model, str(model / "weights.safetensors")):
        arrays = Elmo.load(path).embed(SENTENCES)
        assert [array.shape for array in arrays] == [(3, len(words), 16) for words in SENTENCES]
        assert np.array_equal(arrays[0][0, :, :8], arrays[0][0, :, 8:])  # layer 0 is the token vector twice


def test_mix_follows_the_formula(model: Path) -> None:
    elmo = Elmo.load(model)
    layers = elmo.embed(SENTENCES)
    for mixed, of_sentence in zip(elmo.mix(SENTENCES), layers, strict=True):
        assert np.abs(mixed - of_sentence.mean(axis=0)).max(initial=0) < 1e-6
    shares = (0.5, 0.2, -1.0)
    for mixed, of_sentence in zip(elmo.mix(SENTENCES, shares, gamma=2.0), layers, strict=True):
        expected = 2.0 * sum(share * layer for share, layer in zip(shares, of_sentence, strict=True))
        assert mixed.shape == expected.shape
        assert np.abs(mixed - expected).max(initial=0) < 1e-6
    learnt: Any = torch.nn.Parameter(torch.tensor(shares))
    assert np.allclose(elmo.mix(SENTENCES, learnt)[0], elmo.mix(SENTENCES, shares)[0])
    wrong: list[Any] = [
        (1.0, 2.0),
        ("a", "b", "c"),
        1.0,
        {"layer": 1},
        [None, 1, 0],
        [1j, 0, 0],
        [10**400, 0, 0],
    ]
    for weights in wrong:
        with pytest.raises(UsageError, match="expected 3 numbers"):
            elmo.mix(SENTENCES, weights)


def test_mix_normalises_layers_over_all_tokens_of_the_call(model: Path) -> None:
    elmo = Elmo.load(model)
    together = np.concatenate(elmo.embed(SENTENCES), axis=1)[1]  # (tokens, dim) of layer 1
    expected = (together - together.mean()) / together.std()
    mixed = np.concatenate(elmo.mix(SENTENCES, (0.0, 1.0, 0.0), layer_norm=True))
    assert np.abs(mixed - expected).max() < 1e-4
    assert elmo.mix([], layer_norm=True) == []


@pytest.mark.parametrize("wrong", ["The cat sat .", ["The cat sat .", "No ."], [["fine"], "No ."]])
def test_raw_strings_are_refused_with_a_hint(model: Path, wrong: Sequence[str]) -> None:
    with pytest.raises(UsageError, match=r"list of token lists, such as \[\["):
        Elmo.load(model).embed(wrong)


def test_the_hint_for_a_raw_string_splits_it_as_the_public_tokeniser_does(model: Path) -> None:
    with pytest.raises(UsageError, match=r"such as \[\['The', 'bank', 'closed', '\.'\]\]; elmo_bench"):
        Elmo.load(model).embed("The bank closed.")  # type: ignore[arg-type]
    assert elmo_bench.tokenise("The bank closed.") == ("The", "bank", "closed", ".")
    assert Elmo.load(model).embed([elmo_bench.tokenise("The bank closed.")])[0].shape[1] == 4


def test_other_things_than_tokens_are_refused(model: Path) -> None:
    with pytest.raises(UsageError, match="got 3 in sentence 1"):
        Elmo.load(model).embed([["a"], ["b", 3]])  # type: ignore[list-item]
    for wrong, message in ((None, "got None"), ([["a"], None], "got None as sentence 1")):
        with pytest.raises(UsageError, match=message):
            Elmo.load(model).embed(wrong)  # type: ignore[arg-type]
    for gamma in ("x", float("nan"), [1.0, 2.0]):
        with pytest.raises(UsageError, match="gamma: expected a number"):
            Elmo.load(model).mix(SENTENCES, gamma=gamma)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="device=nowhere"):
        Elmo.load(model, device="nowhere")
    with pytest.raises(UsageError, match="precision='float16': expected one of float32, bfloat16"):
        Elmo.load(model, precision="float16")  # type: ignore[arg-type]
    with pytest.raises(DataMissingError, match="no such model"):
        Elmo.load(model / "nothing")


def _run(*words: str | Path) -> None:
    parser = argparse.ArgumentParser()
    embed.configure(parser)
    embed.run(parser.parse_args([str(word) for word in words]))


def _sentence_file(folder: Path, sentences: Sequence[Sequence[str]] = SENTENCES) -> Path:
    path = folder / "sentences.txt"
    path.write_text("".join(" ".join(words) + "\n" for words in sentences), encoding="utf-8")
    return path


def _read(path: Path) -> dict[str, Floats]:
    if path.suffix == ".safetensors":
        return dict(load_file(path))
    with h5py.File(path) as file:
        return {key: file[key][()] for key in file}


@pytest.mark.parametrize("name", ["out.hdf5", "out.h5", "out.safetensors"])
def test_the_command_writes_what_embed_gives(model: Path, tmp_path: Path, name: str) -> None:
    _run(_sentence_file(tmp_path), tmp_path / name, "--model", model)
    found = _read(tmp_path / name)
    assert found.keys() == {"0", "1", "2", "3"}
    for line, expected in enumerate(Elmo.load(model).embed(SENTENCES)):
        assert found[str(line)].dtype == np.float32
        assert np.array_equal(found[str(line)], expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["sentences.txt", name])


@pytest.mark.parametrize("name", ["out.hdf5", "out.safetensors"])
@pytest.mark.parametrize("stop_after", range(5))
def test_a_stopped_job_goes_on_and_ends_with_the_same_bytes(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, stop_after: int
) -> None:
    monkeypatch.setattr(embed, "TOKENS_AT_ONCE", 6)
    sentences = [[f"w{row}"] * (1 + row % 7) for row in range(20)]
    source = _sentence_file(tmp_path, sentences)
    (tmp_path / "whole").mkdir()
    _run(source, tmp_path / "whole" / name, "--model", model)

    calls = 0
    fsync = vector_files.os.fsync

    def stop(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > stop_after:
            raise KeyboardInterrupt  # values are written, their progress is not
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(vector_files.os, "fsync", stop)
        with pytest.raises(InterruptedRunError, match="again to resume") as caught:
            _run(source, tmp_path / name, "--model", model)
    assert caught.value.exit_code == 130
    assert not (tmp_path / name).exists()
    _run(source, tmp_path / name, "--model", model)
    assert (tmp_path / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_resumed_job_computes_only_what_is_missing(tmp_path: Path) -> None:
    layout = Layout((2, 1, 3), 3, 4, "identity")
    arrays = [np.full(layout.shape(line), line + 1, np.float32) for line in range(3)]
    blocks = [range(1), range(1, 2), range(2, 3)]
    file = VectorFile(tmp_path / "out.hdf5", layout)
    assert file.missing(blocks) == blocks
    file.lay_out()
    for block in (blocks[2], blocks[0]):
        file.write(block, [arrays[line] for line in block])
        file.note(block)
    assert VectorFile(tmp_path / "out.hdf5", layout).missing(blocks) == [blocks[1]]
    other = VectorFile(tmp_path / "out.hdf5", Layout((2, 1, 3), 3, 4, "another identity"))
    assert other.missing(blocks) == blocks
    file.lay_out()  # keeps what is there
    file.write(blocks[1], arrays[1:2])
    file.note(blocks[1])
    assert file.missing([range(3)]) == []
    file.finish()
    for line, array in enumerate(arrays):
        assert np.array_equal(_read(tmp_path / "out.hdf5")[str(line)], array)


def test_a_finished_job_is_recognised_and_not_overwritten(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = _sentence_file(tmp_path)
    for name in ("out.hdf5", "out.safetensors"):
        _run(source, tmp_path / name, "--model", model)
        before = (tmp_path / name).stat().st_mtime_ns
        capsys.readouterr()
        _run(source, tmp_path / name, "--model", model)
        assert "already done" in capsys.readouterr().out
        assert (tmp_path / name).stat().st_mtime_ns == before
        with pytest.raises(UsageError, match="another model"):
            _run(source, tmp_path / name, "--model", model, "--precision", "bfloat16")
    (tmp_path / "foreign.hdf5").write_bytes(b"something of value")
    with pytest.raises(UsageError, match="choose another name"):
        _run(source, tmp_path / "foreign.hdf5", "--model", model)


def test_bad_requests_are_explained(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _sentence_file(tmp_path)
    empty = tmp_path / "empty.txt"
    empty.touch()
    with pytest.raises(DataError, match=r"empty\.txt:1"):
        _run(empty, tmp_path / "out.hdf5", "--model", model)
    with pytest.raises(DataMissingError, match=r"none\.txt"):
        _run(tmp_path / "none.txt", tmp_path / "out.hdf5", "--model", model)
    with pytest.raises(UsageError, match=r"\.safetensors"):
        _run(source, tmp_path / "out.npz", "--model", model)
    with pytest.raises(UsageError, match="no such directory"):
        _run(source, tmp_path / "nowhere" / "out.hdf5", "--model", model)
    monkeypatch.setattr(embed, "SAFETENSORS_HEADER", 100)
    with pytest.raises(UsageError, match="too many sentences"):
        _run(source, tmp_path / "out.safetensors", "--model", model)
    monkeypatch.setattr(embed.shutil, "disk_usage", lambda _: argparse.Namespace(free=100))
    with pytest.raises(UsageError, match="100 bytes are free"):
        _run(source, tmp_path / "out.hdf5", "--model", model)
    assert not (tmp_path / "out.hdf5.part").exists()


def test_a_full_disk_is_explained(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(vector_files.os, "fsync", fail)
    with pytest.raises(BenchError, match="no space left on device; free some space"):
        _run(_sentence_file(tmp_path), tmp_path / "out.hdf5", "--model", model)


def test_carried_state_is_not_what_elmo_loads(model: Path) -> None:
    elmo = Elmo.load(model)
    first, second = (elmo.embed(SENTENCES[:1])[0] for _ in range(2))
    assert np.array_equal(first, second)
    assert elmo.encoder.fingerprint == load_embedder(model).fingerprint
