"""What a biLM is trained and measured by: sampled and full softmax over the words next to each token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import log, sqrt
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from elmo_bench.bilm.training.arithmetic import PLAIN, Arithmetic
from elmo_bench.nn.workers import count_workers, run_side_by_side

POSITIONS_PER_CHUNK = 256  # logits of a chunk stay in the cache and are never all in memory
WORDS_PER_BLOCK = 4096


class Softmax(nn.Module):
    """The output layer both directions share: one row per word of the vocabulary."""

    def __init__(self, vocabulary: int, dim: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        drawn = torch.empty(vocabulary, dim).normal_(0.0, sqrt(1.0 / dim), generator=generator)
        self.weight = nn.Parameter(drawn)
        self.bias = nn.Parameter(torch.zeros(vocabulary))


@dataclass(frozen=True)
class Negatives:
    """Words drawn for one batch to compare the true ones with, and how often each was to be expected."""

    numbers: NDArray[np.int64]  # (negatives,), all different
    expected: NDArray[np.float64]  # (negatives,)
    tries: int  # draws it took to find that many different words


def draw_negatives(count: int, vocabulary: int, seed: Sequence[int]) -> Negatives:
    """Log-uniform over words by falling frequency, until `count` are different, as TensorFlow draws.

    A function of its arguments alone, so that every process of a training run draws the same.
    """
    if not 0 < count < vocabulary:
        raise ValueError(f"expected fewer negatives than the {vocabulary} words, got {count}")
    generator = np.random.default_rng(list(seed))
    drawn = np.empty(0, dtype=np.int64)
    while True:
        more = np.exp(generator.random(4 * count) * log(vocabulary + 1)).astype(np.int64) - 1
        drawn = np.concatenate([drawn, np.minimum(more, vocabulary - 1)])
        first_places = np.unique(drawn, return_index=True)[1]
        if len(first_places) >= count:
            break
    places = np.sort(first_places)[:count]
    tries = int(places[-1]) + 1
    numbers = drawn[places]
    return Negatives(numbers, expected_counts(numbers, vocabulary, tries), tries)


def expected_counts(numbers: NDArray[np.int64], vocabulary: int, tries: int) -> NDArray[np.float64]:
    """The probability that each word is among the different ones of so many draws."""
    probabilities = np.log1p(1.0 / (numbers + 1.0)) / log(vocabulary + 1)
    return np.asarray(-np.expm1(tries * np.log1p(-probabilities)))


def full_loss(
    softmax: Softmax, outputs: Tensor, targets: Tensor, arithmetic: Arithmetic = PLAIN
) -> tuple[Tensor, Tensor]:
    """Cross-entropy over the whole vocabulary: its sum, and without gradient each position's share."""
    loss, shares = _CrossEntropy.apply(  # type: ignore[no-untyped-call]
        outputs, softmax.weight, softmax.bias, None, None, targets, arithmetic, torch.is_grad_enabled()
    )
    return loss, shares


def sampled_loss(
    softmax: Softmax,
    outputs: Tensor,
    targets: Tensor,
    negatives: Negatives,
    arithmetic: Arithmetic = PLAIN,
) -> tuple[Tensor, Tensor]:
    """Cross-entropy of each target among itself and the negatives, logits corrected by expected counts.

    A negative that happens to be the target counts once (TensorFlow's remove_accidental_hits): corrected,
    both have the same logit, so such a position needs no column of its own.
    """
    vocabulary, device = len(softmax.bias), targets.device
    numbers = torch.from_numpy(negatives.numbers).to(device)
    count = len(numbers)
    places = torch.full((vocabulary,), count, device=device)
    places[numbers] = torch.arange(count, device=device)
    expected = np.concatenate(
        [negatives.expected, expected_counts(targets.cpu().numpy(), vocabulary, negatives.tries)]
    )
    chosen = torch.cat([numbers, targets])
    rows = nn.functional.embedding(chosen, softmax.weight)  # one gather, so one scatter on the way back
    biases = softmax.bias[chosen] - torch.from_numpy(np.log(expected)).to(softmax.bias)
    loss, shares = _CrossEntropy.apply(  # type: ignore[no-untyped-call]
        outputs,
        rows[:count],
        biases[:count],
        rows[count:],
        biases[count:],
        places[targets],
        arithmetic,
        torch.is_grad_enabled(),
    )
    return loss, shares


@torch.no_grad()
def measure_shares(softmax: Softmax, outputs: Tensor, targets: Tensor) -> Tensor:
    """Each position's cross-entropy over the whole vocabulary, for measuring: block by block, no gradient."""
    weight, bias = softmax.weight, softmax.bias
    logits = outputs.new_empty(POSITIONS_PER_CHUNK * WORDS_PER_BLOCK)
    shares = []
    for inputs, true in zip(
        torch.split(outputs, POSITIONS_PER_CHUNK), torch.split(targets, POSITIONS_PER_CHUNK), strict=True
    ):
        parts = []
        for rows, biases in zip(
            torch.split(weight, WORDS_PER_BLOCK), torch.split(bias, WORDS_PER_BLOCK), strict=True
        ):
            block = logits[: len(inputs) * len(rows)].view(len(inputs), len(rows))  # (chunk, block)
            torch.addmm(biases, inputs, rows.t(), out=block)
            highest = block.amax(dim=1)
            parts.append(block.sub_(highest.unsqueeze(1)).exp_().sum(dim=1).log_().add_(highest))
        true_logits = (inputs * weight[true]).sum(dim=1) + bias[true]
        shares.append(torch.stack(parts).logsumexp(dim=0) - true_logits)
    return torch.cat(shares)


class _CrossEntropy(torch.autograd.Function):
    """Cross-entropy among columns shared by all positions and, optionally, one more of each position's own.

    Position n has the output h_n and the logits z_n = W h_n + b, and p_n = softmax(z_n). Its loss is
    -log p_n[y_n], where `places` says which column y_n is; the position's own is the last. The gradient is

    of z_n  s_n = p_n - onehot(y_n)
    of h_n  s_n W
    of W    sum_n s_n' h_n
    of b    sum_n s_n

    and likewise for the own column w_n, c_n with its share t_n of s_n: t_n w_n more for h_n, t_n h_n for w_n,
    t_n for c_n. All of it is computed in the forward pass, chunk by chunk, so that the logits are never all
    in memory; the backward pass only multiplies it by the gradient of the loss.
    """

    @staticmethod
    def forward(
        ctx: Any,
        outputs: Tensor,
        rows: Tensor,
        biases: Tensor,
        own_rows: Tensor | None,
        own_biases: Tensor | None,
        places: Tensor,
        arithmetic: Arithmetic,
        keeps: bool,
    ) -> tuple[Tensor, Tensor]:
        dtype, multiply = arithmetic.dtype or outputs.dtype, arithmetic.multiply
        columns, products = len(rows), rows.to(dtype)
        at_outputs = torch.zeros_like(outputs) if keeps else None
        at_own = None if own_biases is None else torch.zeros_like(own_biases)
        shares = torch.empty_like(outputs[:, 0])  # (positions,)

        def run(starts: range) -> list[Tensor]:
            """Compute these chunks; gives their gradients of the shared rows and biases."""
            sums = [torch.zeros_like(rows), torch.zeros_like(biases)] if keeps else []
            for start in starts:
                here = slice(start, start + POSITIONS_PER_CHUNK)
                inputs, place = outputs[here].to(dtype), places[here].unsqueeze(1)
                logits = multiply(inputs, products.t()).to(outputs.dtype).add_(biases)  # (chunk, columns)
                if own_rows is not None and own_biases is not None:
                    own = (outputs[here] * own_rows[here]).sum(dim=1, keepdim=True) + own_biases[here, None]
                    logits = torch.cat([logits, own.masked_fill(place < columns, -torch.inf)], dim=1)
                logits = torch.log_softmax(logits, dim=1)
                shares[here] = -logits.gather(1, place).squeeze(1)
                if at_outputs is None:
                    continue
                slopes = logits.exp_().scatter_add_(1, place, logits.new_full(place.shape, -1.0))
                shared = slopes[:, :columns]
                if at_own is not None:
                    at_own[here] = slopes[:, columns]
                sums[1].add_(shared.sum(dim=0))
                shared = shared.to(dtype)
                at_outputs[here] = multiply(shared, products)
                sums[0].add_(multiply(shared.t(), inputs))
            return sums

        starts = range(0, len(outputs), POSITIONS_PER_CHUNK)
        parts = count_workers(outputs.device)
        runs = [partial(run, starts[part::parts]) for part in range(parts)]
        sums, *others = run_side_by_side(runs, outputs.device)
        for other in others:
            for total, more in zip(sums, other, strict=True):
                total.add_(more)
        gradients = [] if at_outputs is None else [at_outputs, *sums]
        if at_outputs is not None and at_own is not None and own_rows is not None:
            at_outputs.addcmul_(at_own.unsqueeze(1), own_rows)
            gradients += [at_own.unsqueeze(1) * outputs, at_own]
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(shares)
        return shares.sum(), shares

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, at_loss: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = [gradient * at_loss for gradient in ctx.saved_tensors]
        return (*gradients, *[None] * (8 - len(gradients)))
