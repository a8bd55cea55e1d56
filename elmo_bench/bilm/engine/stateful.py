"""The biLM as the published implementations run it: LSTM states carried from batch to batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from elmo_bench.bilm.model import BiLM, State, States, batch_characters
from elmo_bench.types import Words


class StatefulEmbedder:
    """Each call is one batch and starts from the states of the previous batch; for parity, not for speed."""

    def __init__(self, model: BiLM, fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self.layer_count = model.options.layers + 1
        self.dim = 2 * model.options.projection_dim
        self._model = model.eval()
        self._states: States | None = None

    @torch.inference_mode()
    def layers(self, sentences: Sequence[Words]) -> list[NDArray[np.float32]]:
        """The layers (layers, time, dim) of one batch of sentences, without the sentence marks."""
        if not sentences:
            return []
        device = self._model.token_encoder.characters.weight.device
        ids, lengths = batch_characters(sentences, self._model.options.maximum_characters)
        before = self._states
        layers, after = self._model(ids.to(device), lengths.to(device), _resize(before, len(ids)))
        self._states = _keep_idle_rows(before, after)
        return [
            row[:, 1 : len(words) + 1].float().cpu().numpy()
            for row, words in zip(layers, sentences, strict=True)
        ]


def _resize(states: States | None, rows: int) -> States | None:
    """The states of the first rows, with zeros for rows that no earlier batch had."""
    if states is None:
        return None

    def fit(tensor: Tensor) -> Tensor:
        return F.pad(tensor[:rows], (0, 0, 0, max(0, rows - len(tensor))))

    return [[(fit(output), fit(cell)) for output, cell in layers] for layers in states]


def _keep_idle_rows(before: States | None, after: States) -> States:
    """The new states, followed by the rows that a smaller batch does not update."""
    if before is None:
        return after
    return [
        [_join(old, new) for old, new in zip(old_layers, new_layers, strict=True)]
        for old_layers, new_layers in zip(before, after, strict=True)
    ]


def _join(old: State, new: State) -> State:
    rows = len(new[0])
    return torch.cat([new[0], old[0][rows:]]), torch.cat([new[1], old[1][rows:]])
