"""The biLM as the published implementations run it: state carried from batch to batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from elmo_bench.bilm.characters import character_rows, with_marks
from elmo_bench.bilm.lstm import State
from elmo_bench.bilm.model import BiLM, BilmStates
from elmo_bench.types import Words


class CarryingEmbedder:
    """Each call is one batch, and starts in the state the one before left; for parity, not for speed."""

    def __init__(self, model: BiLM, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self.layer_count = model.options.layers + 1
        self.dim = 2 * model.options.projection_dim
        self._model = model.eval()
        self._states = BilmStates(forward=(), backward=())

    @torch.inference_mode()
    def layers(self, sentences: Sequence[Words]) -> list[NDArray[np.float32]]:
        """The layers (layers, time, dim) of one batch of sentences, without the sentence marks."""
        if not sentences:
            return []
        device = self._model.token_encoder.characters.weight.device
        marked = [with_marks(words) for words in sentences]
        lengths = torch.tensor([len(words) for words in marked], device=device)
        width = self._model.options.maximum_characters
        rows = torch.zeros(len(marked), int(lengths.max()), width, dtype=torch.long)
        for row, words in zip(rows, marked, strict=True):
            row[: len(words)] = torch.from_numpy(character_rows(words, width))
        tokens = self._model.token_encoder(rows.flatten(0, 1).to(device)).unflatten(0, rows.shape[:2])
        before = self._states
        layers, after = self._model(tokens, lengths, _resize(before, len(marked)))
        self._states = _keep_idle_rows(before, after)
        return [
            row[:, 1 : len(words) + 1].float().cpu().numpy()
            for row, words in zip(layers, sentences, strict=True)
        ]


def _resize(states: BilmStates, rows: int) -> BilmStates | None:
    """The first rows of the states, with zeros for rows that no batch has had before."""
    if not states.forward:
        return None

    def fit(tensor: Tensor) -> Tensor:
        return F.pad(tensor[:rows], (0, 0, 0, max(0, rows - len(tensor))))

    return BilmStates(*([(fit(output), fit(cell)) for output, cell in side] for side in _sides(states)))


def _keep_idle_rows(before: BilmStates, after: BilmStates) -> BilmStates:
    """The new states, followed by rows that a smaller batch has left alone."""
    if not before.forward:
        return after
    sides = []
    for old_side, new_side in zip(_sides(before), _sides(after), strict=True):
        sides.append([_join(old, new) for old, new in zip(old_side, new_side, strict=True)])
    return BilmStates(*sides)


def _join(old: State, new: State) -> State:
    rows = len(new[0])
    return torch.cat([new[0], old[0][rows:]]), torch.cat([new[1], old[1][rows:]])


def _sides(states: BilmStates) -> tuple[Sequence[State], Sequence[State]]:
    return states.forward, states.backward
