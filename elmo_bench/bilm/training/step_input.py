"""One step of a language model as tensors, and the biLM's top outputs for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from elmo_bench.bilm.model import BiLM, State, character_ids, count_characters
from elmo_bench.bilm.training.arithmetic import PLAIN, Arithmetic, encode_words
from elmo_bench.bilm.training.batches import Directed, Numbers, TextBatch
from elmo_bench.bilm.training.packed_lstm import Direction, run_stacks_packed
from elmo_bench.data.text import SENTENCE_END, SENTENCE_START

ENCODER_GROUPS = 4  # distinct words are encoded in so many groups of similar length

Carried = list[list[State]]
"""By direction and layer: the states a stream goes on from."""


class DirectedInput(NamedTuple):
    """One direction of a step as tensors."""

    words: Tensor  # (tokens,) places among the distinct words
    targets: Tensor  # (tokens,)
    counts: tuple[int, ...]


class StepInput(NamedTuple):
    """A step as tensors: every distinct word once."""

    characters: list[Tensor]  # groups of (words, characters), by rising length
    directions: tuple[DirectedInput, DirectedInput]
    predictions: int  # of one direction over all processes

    def to(self, device: torch.device) -> StepInput:
        """The same step on a device."""
        ahead, back = (
            DirectedInput(d.words.to(device), d.targets.to(device), d.counts) for d in self.directions
        )
        return StepInput([group.to(device) for group in self.characters], (ahead, back), self.predictions)


class CharacterTable:
    """The character ids of a text's types, worked out when a type is first read."""

    def __init__(self, types: Sequence[str], maximum_characters: int) -> None:
        self._types = (*types, SENTENCE_START, SENTENCE_END)
        self._rows = np.zeros((len(self._types), maximum_characters), dtype=np.int16)  # zero: not filled yet

    def rows(self, numbers: Numbers) -> NDArray[np.int16]:
        """(words, characters)"""
        missing = numbers[self._rows[numbers, 0] == 0]
        if len(missing):
            words = [self._types[number] for number in missing]
            self._rows[missing] = character_ids(words, self._rows.shape[1])
        found: NDArray[np.int16] = self._rows[numbers]
        return found


def as_tensors(batch: TextBatch, table: CharacterTable) -> StepInput:
    """Number the distinct words of a batch by rising length and look up their characters."""
    both = (batch.forward, batch.backward)
    numbers, places = np.unique(np.concatenate([d.inputs for d in both]), return_inverse=True)
    rows = table.rows(numbers).astype(np.int64)
    lengths = count_characters(rows)
    order = np.argsort(lengths, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    places = rank[places]
    groups = [torch.from_numpy(rows[group]) for group in np.array_split(order, ENCODER_GROUPS)]
    first = len(batch.forward.inputs)

    def directed(direction: Directed, words: Numbers) -> DirectedInput:
        return DirectedInput(torch.from_numpy(words), torch.from_numpy(direction.targets), direction.counts)

    directions = directed(batch.forward, places[:first]), directed(batch.backward, places[first:])
    return StepInput([group for group in groups if len(group)], directions, batch.predictions)


def top_outputs(
    bilm: BiLM,
    step: StepInput,
    carried: Carried | None = None,
    dropout: float = 0.0,
    arithmetic: Arithmetic = PLAIN,
) -> tuple[Tensor, Carried]:
    """The top layer's outputs, forward ones first (2 * tokens, dim), and the states to carry on."""
    groups = [encode_words(bilm.token_encoder, group, arithmetic) for group in step.characters]
    vectors = torch.cat(groups)  # (words, dim)
    stacks = (bilm.forward_stack, bilm.backward_stack)
    directions = [
        Direction(
            stack,
            F.embedding(direction.words, vectors),  # (tokens, dim)
            direction.counts,
            carried[number] if carried else None,
        )
        for number, (stack, direction) in enumerate(zip(stacks, step.directions, strict=True))
    ]
    results = run_stacks_packed(directions, dropout, arithmetic)
    return torch.cat([outputs for outputs, _ in results]), [states for _, states in results]
