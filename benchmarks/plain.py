"""What the package has gradients of its own for, as plain PyTorch that autograd differentiates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from elmo_bench.bilm.model import ProjectedLstm
from elmo_bench.bilm.training.objective import POSITIONS_PER_CHUNK, Negatives, Softmax, expected_counts
from elmo_bench.nn.crf import Crf, reversal
from elmo_bench.nn.lstm import BiLstm, HighwayLstm
from elmo_bench.nn.packing import Packing
from elmo_bench.nn.products import multiply_with_gradient
from elmo_bench.tasks.coref.lstm import CoupledLstm
from elmo_bench.tasks.squad.gru import BiGru


def run_bilstm(layer: BiLstm, x: Tensor, mask: Tensor) -> Tensor:
    """A bidirectional LSTM: one product for all inputs, then a loop over packed steps."""
    packing = Packing.of(mask)
    tokens = packing.pack(x)  # (tokens, inputs)
    (enter, recur, bias, _), (enter_back, recur_back, bias_back, _) = layer.lstm.all_weights
    left = _scan_lstm(multiply_with_gradient(tokens, enter) + bias, recur, packing)  # (tokens, hidden)
    right = packing.turn(multiply_with_gradient(tokens, enter_back) + bias_back)
    right = packing.turn(_scan_lstm(right, recur_back, packing))
    return packing.unpack(torch.cat([left, right], dim=1), mask)


def run_bilstm_padded(layer: BiLstm, x: Tensor, mask: Tensor) -> Tensor:
    """The same by PyTorch's LSTM over padded rows, which is oneDNN's on CPUs; one call for each direction."""
    order = reversal(mask).unsqueeze(2)  # (rows, time, 1)
    (enter, recur, *biases), backwards = layer.lstm.all_weights
    left = _run_library(x, [enter, recur, *biases])
    right = _run_library(x.gather(1, order.expand_as(x)), backwards)
    right = right.gather(1, order.expand_as(right))
    return torch.cat([left, right], dim=2) * mask.unsqueeze(2)


def _run_library(x: Tensor, weights: Sequence[Tensor]) -> Tensor:
    zeros = x.new_zeros(1, len(x), weights[1].shape[1])
    states: Tensor = torch.lstm(x, [zeros, zeros], list(weights), True, 1, 0.0, True, False, True)[0]
    return states


def _scan_lstm(gates: Tensor, recurrent: Tensor, packing: Packing) -> Tensor:
    states: list[Tensor] = []
    cell = gates.new_zeros(packing.sizes[0], recurrent.shape[1])
    for size, sums in zip(packing.sizes, torch.split(gates, list(packing.sizes)), strict=True):
        if states:
            sums = sums + multiply_with_gradient(states[-1][:size], recurrent)
        enter, forget, candidate, leave = sums.chunk(4, dim=1)
        cell = torch.sigmoid(enter) * torch.tanh(candidate) + torch.sigmoid(forget) * cell[:size]
        states.append(torch.sigmoid(leave) * torch.tanh(cell))
    return torch.cat(states)


def run_highway_lstm(layer: HighwayLstm, tokens: Tensor, packing: Packing) -> Tensor:
    """An LSTM with a highway connection, without dropout."""
    entered = multiply_with_gradient(tokens, layer.enter)  # (tokens, 6 * hidden)
    hidden = layer.hidden
    gates, carried = entered[:, :-hidden] + layer.bias, entered[:, -hidden:]
    states: list[Tensor] = []
    cell = tokens.new_zeros(packing.sizes[0], hidden)
    parts = zip(
        packing.sizes,
        torch.split(gates, list(packing.sizes)),
        torch.split(carried, list(packing.sizes)),
        strict=True,
    )
    for size, sums, past in parts:
        if states:
            sums = sums + multiply_with_gradient(states[-1][:size], layer.recur)
        opened, candidate = torch.sigmoid(sums), torch.tanh(sums[:, 2 * hidden : 3 * hidden])
        enter, forget, _, leave, transform = opened.chunk(5, dim=1)
        cell = enter * candidate + forget * cell[:size]
        states.append(torch.lerp(past, leave * torch.tanh(cell), transform))
    return torch.cat(states)


def run_coupled_lstm(layer: CoupledLstm, tokens: Tensor, packing: Packing) -> Tensor:
    """An LSTM with coupled gates and a learned first state, without dropout."""
    gates = multiply_with_gradient(tokens, layer.enter) + layer.bias  # (tokens, 3 * hidden)
    states: list[Tensor] = []
    state, cell = layer.first.unsqueeze(1).repeat(1, packing.sizes[0], 1)
    for size, entered in zip(packing.sizes, torch.split(gates, list(packing.sizes)), strict=True):
        sums = entered + multiply_with_gradient(state[:size], layer.recur)
        enter, leave, candidate = sums.chunk(3, dim=1)
        cell = torch.lerp(cell[:size], torch.tanh(candidate), torch.sigmoid(enter))
        state = torch.sigmoid(leave) * torch.tanh(cell)
        states.append(state)
    return torch.cat(states)


def run_bigru(layer: BiGru, x: Tensor, mask: Tensor) -> Tensor:
    """A bidirectional GRU, both directions in one loop over packed steps."""
    packing = Packing.of(mask)
    tokens = packing.pack(x)  # (tokens, inputs)
    (enter, recur, bias, after), (enter_back, recur_back, bias_back, after_back) = layer.gru.all_weights
    left = multiply_with_gradient(tokens, enter) + bias  # (tokens, 3 * hidden)
    right = packing.turn(multiply_with_gradient(tokens, enter_back) + bias_back)
    weight = torch.stack([recur.T, recur_back.T])  # (2, hidden, 3 * hidden)
    offset = torch.stack([after, after_back]).unsqueeze(1)  # (2, 1, 3 * hidden)
    states: list[Tensor] = []
    state = x.new_zeros(2, packing.sizes[0], recur.shape[1])
    for size, sums in zip(
        packing.sizes, torch.split(torch.stack([left, right]), list(packing.sizes), dim=1), strict=True
    ):
        state = state[:, :size]
        product = torch.baddbmm(offset, state, weight)  # (2, rows, 3 * hidden)
        entered, recurrent = sums.chunk(3, dim=2), product.chunk(3, dim=2)
        reset, keep = (torch.sigmoid(entered[gate] + recurrent[gate]) for gate in (0, 1))
        state = torch.lerp(torch.tanh(entered[2] + reset * recurrent[2]), state, keep)
        states.append(state)
    left, right = torch.cat(states, dim=1)
    return packing.unpack(torch.cat([left, packing.turn(right)], dim=1), mask)


def log_partition(crf: Crf, emissions: Tensor, mask: Tensor) -> Tensor:
    """The forward algorithm in logarithms, as textbooks have it."""
    best = crf.start + emissions[:, 0]  # (rows, labels)
    for step in range(1, emissions.shape[1]):
        reached = (best.unsqueeze(2) + crf.between).logsumexp(1) + emissions[:, step]
        best = torch.where(mask[:, step].unsqueeze(1), reached, best)
    return (best + crf.end).logsumexp(1)


def run_projected_lstm(
    layer: ProjectedLstm, inputs: Tensor, counts: Sequence[int], dtype: torch.dtype
) -> Tensor:
    """One layer of one direction of the biLM over packed inputs (tokens, dim)."""
    entered = F.linear(inputs.to(dtype), layer.input_weight.to(dtype), layer.gate_bias.to(dtype))
    recurrent = layer.state_weight.to(dtype)
    projected, cell = layer.zero_state(counts[0])
    outputs = []
    for sums in torch.split(entered, list(counts)):
        gates = torch.addmm(sums, projected[: len(sums)].to(dtype), recurrent.T).to(inputs.dtype)
        projected, cell = layer.step(gates, cell[: len(sums)])
        outputs.append(projected)
    return torch.cat(outputs)


def sampled_softmax(
    softmax: Softmax, outputs: Tensor, targets: Tensor, negatives: Negatives, dtype: torch.dtype
) -> Tensor:
    """The summed cross-entropy of each target among itself and the negatives, its logits all in memory."""

    def log_expected(numbers: Tensor) -> Tensor:
        counts = expected_counts(numbers.numpy(), len(softmax.bias), negatives.tries)
        return torch.from_numpy(np.log(counts)).to(softmax.bias)

    drawn = torch.from_numpy(negatives.numbers)
    true = (outputs * softmax.weight[targets]).sum(1) + softmax.bias[targets] - log_expected(targets)
    others = (outputs.to(dtype) @ softmax.weight[drawn].to(dtype).T).to(outputs.dtype)
    others = others + softmax.bias[drawn] - log_expected(drawn)
    others = others.masked_fill(targets.unsqueeze(1) == drawn, -torch.inf)  # accidental hits
    logits = torch.cat([true.unsqueeze(1), others], dim=1)  # (positions, 1 + negatives)
    return F.cross_entropy(logits, torch.zeros_like(targets), reduction="sum")


def in_chunks(loss: Callable[[Tensor, Tensor], Tensor], outputs: Tensor, targets: Tensor) -> Tensor:
    """A summed loss, its logits computed again in the backward pass, some positions at a time."""
    parts = zip(*(torch.split(x, POSITIONS_PER_CHUNK) for x in (outputs, targets)), strict=True)
    losses = [checkpoint(loss, *part, use_reentrant=False) for part in parts]
    return torch.stack(cast("list[Tensor]", losses)).sum()


def multiply_scaled(left: Tensor, right: Tensor, weight: Tensor) -> Tensor:
    """sum_d left[r, d] right[c, d] weight[h, d], (columns, rows, hidden)."""
    scaled = (left.unsqueeze(1) * weight).flatten(0, 1)  # (rows * hidden, dim)
    return multiply_with_gradient(right, scaled).view(len(right), len(left), len(weight))


def multiply_scaled_again(left: Tensor, right: Tensor, weight: Tensor) -> Tensor:
    """The same, its scaled weights computed again in the backward pass."""
    product: Tensor = checkpoint(multiply_scaled, left, right, weight, use_reentrant=False)
    return product
