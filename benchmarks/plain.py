"""What the package has gradients of its own for, as plain PyTorch that autograd differentiates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from elmo_bench.bilm.model import ProjectedLstm
from elmo_bench.bilm.training.arithmetic import Bank
from elmo_bench.bilm.training.objective import POSITIONS_PER_CHUNK, Negatives, Softmax, expected_counts
from elmo_bench.nn.crf import Crf
from elmo_bench.nn.dropout import least_kept
from elmo_bench.nn.products import multiply_with_gradient


def log_partition(crf: Crf, emissions: Tensor, mask: Tensor) -> Tensor:
    """The forward algorithm in logarithms, as textbooks have it."""
    best = crf.start + emissions[:, 0]  # (rows, labels)
    for step in range(1, emissions.shape[1]):
        reached = (best.unsqueeze(2) + crf.between).logsumexp(1) + emissions[:, step]
        best = torch.where(mask[:, step].unsqueeze(1), reached, best)
    return (best + crf.end).logsumexp(1)


def weigh_at_once(layers: Tensor, weights: Tensor) -> Tensor:
    """The weighted sum of stored layers (rows, layers, time, dim), all converted together."""
    weighed: Tensor = torch.tensordot(weights, layers.to(weights.dtype), dims=([0], [1]))
    return weighed


def weigh_by_layer(layers: Tensor, weights: Tensor, again: bool = False) -> Tensor:
    """The same, one layer after the other; `again`: converted again for the backward pass, not kept."""

    def term(layer: Tensor, weight: Tensor) -> Tensor:
        return layer.to(weight.dtype) * weight

    terms = (
        cast(Tensor, checkpoint(term, layer, weight, use_reentrant=False)) if again else term(layer, weight)
        for layer, weight in zip(layers.unbind(1), weights, strict=True)
    )
    total = next(terms)
    for each in terms:
        total = total + each
    return total


def keep_highest(sums: Tensor, banks: Sequence[Bank]) -> Tensor:
    """What is highest in every word, (words, windows, filters) to (words, filters)."""
    parts = zip(torch.split(sums, [filters for filters, _ in banks], dim=2), banks, strict=True)
    return torch.cat([part[:, : sums.shape[1] - width + 1].amax(dim=1) for part, (_, width) in parts], dim=1)


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
    softmax: Softmax,
    outputs: Tensor,
    targets: Tensor,
    negatives: Negatives,
    dtype: torch.dtype,
    in_chunks: bool = False,
) -> Tensor:
    """The summed cross-entropy of each target among itself and the negatives.

    All logits stay in memory, or those of a chunk of positions are computed again in the backward pass.
    """

    def log_expected(numbers: Tensor) -> Tensor:
        counts = expected_counts(numbers.numpy(), len(softmax.bias), negatives.tries)
        return torch.from_numpy(np.log(counts)).to(softmax.bias)

    drawn = torch.from_numpy(negatives.numbers)
    rows, biases = softmax.weight[drawn].to(dtype), softmax.bias[drawn] - log_expected(drawn)

    def summed_loss(outputs: Tensor, targets: Tensor) -> Tensor:
        true = (outputs * softmax.weight[targets]).sum(1) + softmax.bias[targets] - log_expected(targets)
        others = (outputs.to(dtype) @ rows.T).to(outputs.dtype) + biases
        others = others.masked_fill(targets.unsqueeze(1) == drawn, -torch.inf)  # accidental hits
        logits = torch.cat([true.unsqueeze(1), others], dim=1)  # (positions, 1 + negatives)
        return F.cross_entropy(logits, torch.zeros_like(targets), reduction="sum")

    if not in_chunks:
        return summed_loss(outputs, targets)
    chunks = zip(*(torch.split(x, POSITIONS_PER_CHUNK) for x in (outputs, targets)), strict=True)
    losses = [checkpoint(summed_loss, *chunk, use_reentrant=False) for chunk in chunks]
    return torch.stack(cast("list[Tensor]", losses)).sum()


def multiply_scaled(left: Tensor, right: Tensor, weight: Tensor) -> Tensor:
    """sum_d left[r, d] right[c, d] weight[h, d], (columns, rows, hidden)."""
    scaled = (left.unsqueeze(1) * weight).flatten(0, 1)  # (rows * hidden, dim)
    return multiply_with_gradient(right, scaled).view(len(right), len(left), len(weight))


def multiply_scaled_again(left: Tensor, right: Tensor, weight: Tensor) -> Tensor:
    """The same, its scaled weights computed again in the backward pass."""
    product: Tensor = checkpoint(multiply_scaled, left, right, weight, use_reentrant=False)
    return product


def drop_numbers(x: Tensor, bits: Tensor, rate: float) -> Tensor:
    """Dropout by given bits."""
    return torch.where(bits >= least_kept(rate), x / (1 - rate), 0)
