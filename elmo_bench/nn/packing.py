"""Packed sequences: rows sorted by falling length, then one time step after another, without padding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


@dataclass(frozen=True)
class Packing:
    """Where the tokens of padded rows stand once sorted by falling length and cut into steps."""

    mask: Tensor  # (rows, time) true at real tokens
    sizes: tuple[int, ...]  # rows that are still running at each step
    order: Tensor  # (rows,) numbers of the rows, longest first
    forwards: Tensor  # (tokens,) places among rows * time, reading left to right
    backwards: Tensor  # (tokens,) the same reading right to left
    turned: Tensor  # (tokens,) from the packed left-to-right order to right-to-left and back

    @classmethod
    def of(cls, mask: Tensor) -> Packing:
        """The packing of left-aligned rows, (rows, time) true at real tokens."""
        rows, time = mask.shape
        lengths, order = mask.sum(1).sort(descending=True, stable=True)  # (rows,)
        steps = torch.arange(int(lengths.max()), device=mask.device).unsqueeze(1)  # (time, 1)
        running = steps < lengths  # (time, rows)
        first = (order * time).expand_as(running)  # place of each row's first token
        forwards = (first + steps)[running]
        backwards = (first + lengths - 1 - steps)[running]
        packed_place = torch.empty(rows * time, dtype=torch.long, device=mask.device)
        packed_place[forwards] = torch.arange(len(forwards), device=mask.device)
        sizes = tuple(running.sum(1).tolist())
        return cls(mask, sizes, order, forwards, backwards, packed_place[backwards])

    def pack(self, padded: Tensor) -> Tensor:
        """(rows, time, dim) to the real tokens in left-to-right order, (tokens, dim)."""
        return padded.flatten(0, 1).index_select(0, self.forwards)

    def unpack(self, packed: Tensor) -> Tensor:
        """Tokens in left-to-right order back to (rows, time, dim), zeros at padding."""
        padded = packed.new_zeros(self.mask.numel(), packed.shape[1]).index_copy(0, self.forwards, packed)
        return padded.view(*self.mask.shape, packed.shape[1])

    def turn(self, packed: Tensor) -> Tensor:
        """Packed tokens in the order of the other reading direction."""
        return packed.index_select(0, self.turned)

    @cached_property
    def rows(self) -> Tensor:
        """The number of every token's row, (tokens,)."""
        return self.forwards // self.mask.shape[1]

    @cached_property
    def previous(self) -> Tensor:
        """For every token but those of the first step, where its predecessor stands in the packing."""
        sizes = torch.tensor(self.sizes, device=self.order.device)
        places = torch.arange(self.sizes[0], len(self.forwards), device=self.order.device)
        return places - sizes[:-1].repeat_interleave(sizes[1:])

    def steps(self, packed: Tensor) -> tuple[Tensor, ...]:
        """The packed tokens of every step, (rows that are still running, dim) each."""
        return torch.split(packed, list(self.sizes))


def run_library(layer: nn.RNNBase, x: Tensor, mask: Tensor) -> Tensor:
    """The states (rows, time, dim) of a layer of PyTorch's own, which has fused kernels on GPUs only."""
    packed = pack_padded_sequence(x, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=x.shape[1])
    return states
