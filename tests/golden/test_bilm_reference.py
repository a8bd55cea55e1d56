"""Our biLM against the activations of both reference implementations, state carried from batch to batch.

The files in `files/bilm/allennlp` and `files/bilm/bilm_tf` are vendored, so that these tests never skip.
"""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from elmo_bench.bilm.array_files import read_arrays
from elmo_bench.bilm.engine.embedder import load_embedder
from elmo_bench.bilm.files import load_bilm
from elmo_bench.bilm.layout import expected_shapes
from elmo_bench.bilm.model import BiLM, States, batch_characters, character_ids

FOLDER = Path(__file__).parent / "files" / "bilm"
SENTENCES = {"allennlp": "sentences.json", "bilm_tf": "lm_embeddings_sentences.json"}
TOP_LAYERS = ("lm_embeddings_0.hdf5", "lm_embeddings_1.hdf5", "lm_embeddings_2.hdf5")  # one per list
Floats = NDArray[np.float32]


def _load(kind: str) -> BiLM:
    folder = FOLDER / kind
    return load_bilm(folder / "options.json", folder / "lm_weights.hdf5")


def _batches(kind: str) -> list[list[list[str]]]:
    """Batch i holds sentence i of each of the three lists (see README)."""
    lists = json.loads((FOLDER / kind / SENTENCES[kind]).read_text(encoding="utf-8"))
    return [[sentence.split() for sentence in batch] for batch in zip(*lists, strict=True)]


@torch.no_grad()
def _run_carried(model: BiLM, batches: list[list[list[str]]]) -> list[list[Floats]]:
    """Layers (layers, tokens, dim) of every sentence, marks included, in order."""
    states: States | None = None
    results = []
    for batch in batches:
        ids, lengths = batch_characters(batch, model.options.maximum_characters)
        layers, states = model(ids, lengths, states)
        results.append([part[:, :length].numpy() for part, length in zip(layers, lengths, strict=True)])
    return results


def _reference(kind: str) -> list[list[Floats]]:
    """The stored top layer (tokens, 2 * dim) of each sentence, batch by batch."""
    parts = []
    for name in TOP_LAYERS:
        with h5py.File(FOLDER / kind / name) as file:
            parts.append([np.concatenate(file[str(batch)][()], axis=1) for batch in range(10)])
    return [list(batch) for batch in zip(*parts, strict=True)]


@pytest.mark.parametrize("kind", SENTENCES)
def test_top_layer_equals_the_reference_with_carried_state(kind: str) -> None:
    ours = _run_carried(_load(kind), _batches(kind))
    theirs = _reference(kind)
    assert len(ours) == len(theirs) == 10
    for our_batch, their_batch in zip(ours, theirs, strict=True):
        for layers, expected in zip(our_batch, their_batch, strict=True):
            assert layers[2, 1:-1].shape == expected.shape
            assert np.abs(layers[2, 1:-1] - expected).max() < 1e-5


@pytest.mark.parametrize("kind", SENTENCES)
def test_engine_equals_the_reference_with_carried_state(kind: str) -> None:
    engine = load_embedder(FOLDER / kind, state="carry")
    for batch, expected in zip(_batches(kind), _reference(kind), strict=True):
        ours = engine.layers([tuple(words) for words in batch])
        for layers, reference in zip(ours, expected, strict=True):
            assert np.abs(layers[2] - reference).max() < 1e-5


@torch.no_grad()
def test_token_vectors_equal_the_stored_ones() -> None:
    folder = FOLDER / "allennlp"
    words = (folder / "vocab_test.txt").read_text(encoding="utf-8").split("\n")
    with h5py.File(folder / "elmo_token_embeddings.hdf5") as file:
        expected = file["embedding"][()]
    ours = _load("allennlp").token_encoder(torch.from_numpy(character_ids(words))).numpy()
    assert ours.shape == expected.shape
    assert np.abs(ours - expected).max() < 1e-5


@pytest.mark.parametrize("kind", SENTENCES)
def test_first_layer_equals_a_plain_loop_over_the_file(kind: str) -> None:
    model = _load(kind)
    folder = FOLDER / kind
    arrays = read_arrays(folder / "lm_weights.hdf5", expected_shapes(model.options))
    batches = _batches(kind)
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
                steps = range(len(batch[row]) + 2)  # with both marks
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
    """One step of a layer, written from the file's arrays (gates i, g, f, o) in double precision."""
    entry, candidate, forget, exit_ = np.split(np.concatenate([token, output]) @ kernel + bias, 4)
    kept = cell / (1 + np.exp(-(forget + 1.0)))
    cell = np.clip(kept + np.tanh(candidate) / (1 + np.exp(-entry)), -3, 3)
    return np.clip((np.tanh(cell) / (1 + np.exp(-exit_))) @ projection, -3, 3), cell
