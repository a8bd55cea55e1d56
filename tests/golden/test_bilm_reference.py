"""Our biLM against the activations of both reference implementations, state carried from batch to batch."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from elmo_bench.bilm.characters import character_rows, with_marks
from elmo_bench.bilm.containers import read_arrays
from elmo_bench.bilm.engine.embedder import load_embedder
from elmo_bench.bilm.model import BiLM, BilmStates
from elmo_bench.bilm.weights import expected_shapes, load_bilm

FIXTURES = {"allennlp": "sentences.json", "bilm_tf": "lm_embeddings_sentences.json"}
Floats = NDArray[np.float32]


def _folder(shared: Path, kind: str) -> Path:
    return shared / "fixtures" / "bilm" / kind


def _load(shared: Path, kind: str) -> BiLM:
    folder = _folder(shared, kind)
    return load_bilm(folder / "options.json", folder / "lm_weights.hdf5")


def _batches(shared: Path, kind: str) -> list[list[list[str]]]:
    """Batch i holds sentence i of each of the three lists (the fixtures' NOTE)."""
    lists = json.loads((_folder(shared, kind) / FIXTURES[kind]).read_text(encoding="utf-8"))
    return [[with_marks(sentence.split()) for sentence in batch] for batch in zip(*lists, strict=True)]


@torch.no_grad()
def _run_carried(model: BiLM, batches: list[list[list[str]]]) -> list[list[Floats]]:
    """Layers (layers, tokens, dim) of every sentence, marks included, in order."""
    states: BilmStates | None = None
    results = []
    for batch in batches:
        lengths = torch.tensor([len(words) for words in batch])
        rows = torch.zeros(len(batch), int(lengths.max()), 50, dtype=torch.long)
        for row, words in zip(rows, batch, strict=True):
            row[: len(words)] = torch.from_numpy(character_rows(words))
        tokens = model.token_encoder(rows.flatten(0, 1)).unflatten(0, rows.shape[:2])
        layers, states = model(tokens, lengths, states)
        results.append([part[:, :length].numpy() for part, length in zip(layers, lengths, strict=True)])
    return results


def _reference(shared: Path, kind: str) -> list[list[Floats]]:
    """The stored top layer (tokens, 2 * dim) of each sentence, batch by batch."""
    parts = []
    for index in range(3):
        with h5py.File(_folder(shared, kind) / f"lm_embeddings_{index}.hdf5") as file:
            parts.append([np.concatenate(file[str(batch)][()], axis=1) for batch in range(10)])
    return [list(batch) for batch in zip(*parts, strict=True)]


@pytest.mark.parametrize("kind", FIXTURES)
def test_top_layer_equals_the_reference_with_carried_state(shared: Path, kind: str) -> None:
    ours = _run_carried(_load(shared, kind), _batches(shared, kind))
    theirs = _reference(shared, kind)
    assert len(ours) == len(theirs) == 10
    for our_batch, their_batch in zip(ours, theirs, strict=True):
        for layers, expected in zip(our_batch, their_batch, strict=True):
            assert layers[2, 1:-1].shape == expected.shape
            assert np.abs(layers[2, 1:-1] - expected).max() < 1e-5


@pytest.mark.parametrize("kind", FIXTURES)
def test_engine_equals_the_reference_with_carried_state(shared: Path, kind: str) -> None:
    engine = load_embedder(_folder(shared, kind), state="carry")
    for batch, expected in zip(_batches(shared, kind), _reference(shared, kind), strict=True):
        ours = engine.layers([tuple(words[1:-1]) for words in batch])
        for layers, reference in zip(ours, expected, strict=True):
            assert np.abs(layers[2] - reference).max() < 1e-5


@torch.no_grad()
def test_token_vectors_equal_the_stored_ones(shared: Path) -> None:
    folder = _folder(shared, "allennlp")
    words = (folder / "vocab_test.txt").read_text(encoding="utf-8").split("\n")
    with h5py.File(folder / "elmo_token_embeddings.hdf5") as file:
        expected = file["embedding"][()]
    ours = _load(shared, "allennlp").token_encoder(torch.from_numpy(character_rows(words))).numpy()
    assert ours.shape == expected.shape
    assert np.abs(ours - expected).max() < 1e-5


@pytest.mark.parametrize("kind", FIXTURES)
def test_first_layer_equals_a_plain_loop_over_the_file(shared: Path, kind: str) -> None:
    model = _load(shared, kind)
    folder = _folder(shared, kind)
    arrays = read_arrays(folder / "lm_weights.hdf5", expected_shapes(model.options))
    batches = _batches(shared, kind)
    ours = _run_carried(model, batches)
    for direction in (0, 1):
        prefix = f"RNN_{direction}/RNN/MultiRNNCell/Cell0/LSTMCell"
        kernel, bias, projection = (
            arrays[f"{prefix}/{name}"].astype(float) for name in ("W_0", "B", "W_P_0")
        )
        for row in range(3):
            output, cell = np.zeros(16), np.zeros(64)
            for batch, layers in zip(batches, ours, strict=True):
                tokens = layers[row][0, :, :16].astype(float)  # (tokens, dim)
                steps = range(len(batch[row]))
                for place in steps if direction == 0 else reversed(steps):
                    output, cell = _plain_step(tokens[place], output, cell, kernel, bias, projection)
                    ours_here = layers[row][1, place, direction * 16 : direction * 16 + 16]
                    assert np.abs(ours_here - output).max() < 1e-5


def _plain_step(
    token: NDArray[np.float64],
    output: NDArray[np.float64],
    cell: NDArray[np.float64],
    kernel: NDArray[np.float64],
    bias: NDArray[np.float64],
    projection: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """SPEC 1.4, written from the file's arrays in double precision."""
    entry, candidate, forget, exit_ = np.split(np.concatenate([token, output]) @ kernel + bias, 4)
    kept = cell / (1 + np.exp(-(forget + 1.0)))
    cell = np.clip(kept + np.tanh(candidate) / (1 + np.exp(-entry)), -3, 3)
    return np.clip((np.tanh(cell) / (1 + np.exp(-exit_))) @ projection, -3, 3), cell
