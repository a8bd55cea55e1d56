"""A linear-chain conditional random field: legal label sequences, likelihood and Viterbi decoding.

Likelihood and decoding run over the whole batch and all labels at once; only time is a Python loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

_BOUNDARY = "O"  # a sequence begins and ends as if an O stood beside it, in both schemes


@dataclass(frozen=True)
class Constraints:
    """True where a label may open a sequence, follow another, or close a sequence."""

    start: Tensor  # (labels,)
    between: Tensor  # (labels, labels), from row to column
    end: Tensor  # (labels,)


def bioul_constraints(labels: tuple[str, ...]) -> Constraints:
    """Begin, inside, last and unit: an open chunk must go on with its own type until its last word."""
    return _constraints(labels, _follows_in_bioul)


def bio_constraints(labels: tuple[str, ...]) -> Constraints:
    """Begin and inside: only I-X must follow B-X or I-X; a sequence cannot start inside (He et al. 2017)."""
    return _constraints(labels, _follows_in_bio)


def _constraints(labels: tuple[str, ...], follows: Callable[[str, str], bool]) -> Constraints:
    def masked(firsts: tuple[str, ...], seconds: tuple[str, ...]) -> Tensor:
        return torch.tensor([[follows(first, second) for second in seconds] for first in firsts])

    return Constraints(
        start=masked((_BOUNDARY,), labels)[0],
        between=masked(labels, labels),
        end=masked(labels, (_BOUNDARY,))[:, 0],
    )


def _follows_in_bioul(first: str, second: str) -> bool:
    (before, kind), (after, other_kind) = (first[:1], first[2:]), (second[:1], second[2:])
    if before in "BI":
        return after in "IL" and kind == other_kind
    return after in "OBU"


def _follows_in_bio(first: str, second: str) -> bool:
    return second[:1] != "I" or (first[:1] in "BI" and first[2:] == second[2:])


class Crf(nn.Module):
    """Learned start, transition and end scores; likelihood over all sequences, decoding over legal ones."""

    start_penalties: Tensor
    between_penalties: Tensor
    end_penalties: Tensor

    def __init__(self, constraints: Constraints) -> None:
        super().__init__()
        labels = len(constraints.start)
        self.start = nn.Parameter(torch.zeros(labels))
        self.between = nn.Parameter(nn.init.xavier_normal_(torch.empty(labels, labels)))
        self.end = nn.Parameter(torch.zeros(labels))
        self.register_buffer("start_penalties", penalties(constraints.start), persistent=False)
        self.register_buffer("between_penalties", penalties(constraints.between), persistent=False)
        self.register_buffer("end_penalties", penalties(constraints.end), persistent=False)

    def forward(self, emissions: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        """The negative log-likelihood of each row's labels, (rows,)."""
        emissions = emissions.to(self.start.dtype)  # sums of logarithms, which half precision would spoil
        return self.log_partition(emissions, mask) - self.path_score(emissions, mask, labels)

    def log_partition(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The logarithm of the summed exponential scores of all label sequences, (rows,)."""
        with torch.autocast(emissions.device.type, enabled=False):
            total: Tensor = _LogPartition.apply(emissions, self.start, self.between, self.end, mask)  # type: ignore[no-untyped-call]
        return total

    def path_score(self, emissions: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        """The score of one label sequence per row, (rows,)."""
        emitted = emissions.gather(2, labels.unsqueeze(2)).squeeze(2)  # (rows, time)
        moved = self.between[labels[:, :-1], labels[:, 1:]]  # (rows, time - 1)
        last = labels.gather(1, mask.sum(1, keepdim=True) - 1).squeeze(1)  # (rows,)
        inside = (emitted * mask).sum(1) + (moved * mask[:, 1:]).sum(1)
        return self.start[labels[:, 0]] + inside + self.end[last]

    def decode(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        """The best legal label sequence of each row."""
        return viterbi(
            emissions,
            mask,
            self.start + self.start_penalties,
            self.between + self.between_penalties,
            self.end + self.end_penalties,
        )


def penalties(legal: Tensor) -> Tensor:
    """Zero where something is legal, minus infinity where it is not."""
    return torch.zeros(legal.shape).masked_fill_(~legal, -torch.inf)


@torch.no_grad()
def viterbi(emissions: Tensor, mask: Tensor, start: Tensor, between: Tensor, end: Tensor) -> list[list[int]]:
    """The labels with the highest score for each row of (rows, time, labels) emissions."""
    lengths = mask.sum(1)
    onto = between.T.contiguous()  # (to, from): the maximum runs over the dimension that lies together
    best = start + emissions[:, 0]  # (rows, labels)
    totals, pointers = [best], []
    for step in range(1, emissions.shape[1]):
        reached, pointer = (best.unsqueeze(1) + onto).max(dim=2)  # (rows, to)
        best = reached + emissions[:, step]
        totals.append(best)
        pointers.append(pointer)
    rows = torch.arange(len(emissions), device=emissions.device)
    label = (torch.stack(totals)[lengths - 1, rows] + end).argmax(dim=1)  # (rows,) at each row's last word
    path = [label]
    for step in range(emissions.shape[1] - 1, 0, -1):
        before = pointers[step - 1].gather(1, label.unsqueeze(1)).squeeze(1)
        label = torch.where(step < lengths, before, label)  # stays at the last word until the row begins
        path.append(label)
    labels = torch.stack(path[::-1], dim=1).tolist()  # (rows, time)
    return [row[:length] for row, length in zip(labels, lengths.tolist(), strict=True)]


class _LogPartition(torch.autograd.Function):
    """Forward-backward with both directions in one loop; the gradient is the expected counts.

    With E_t(j) = exp(emission), A(i, j) = exp(transition), messages scaled to sum to one (Rabiner 1989):

    α_t(j) = E_t(j) sum_i α_{t-1}(i) A(i, j) / scale       from the left, α_1 from the start scores
    β_t(i) = sum_j A(i, j) γ_{t+1}(j)                      from the right, β_n from the end scores
    γ_t(j) = E_t(j) β_t(j) / scale
    log Z = the logarithms of the scales of α, and of sum_j α_n(j) β_n(j)

    The gradient of log Z is a probability, with m_t = sum_j α_t(j) β_t(j):

    of emission t, j    P(y_t = j) = α_t(j) β_t(j) / m_t
    of transition i, j  sum_t P(y_t = i, y_{t+1} = j) = sum_t α_t(i) A(i, j) γ_{t+1}(j) / m_t
    of start and end    P(y_1 = j) and P(y_n = j)

    The loop needs no logarithm: emissions enter as exp(e - max e), of which one label's is 1, hence no step
    can underflow. Right-to-left messages run over each row reversed inside its own length: padding is always
    at the end, where whatever is computed is never read.
    """

    @staticmethod
    def forward(
        ctx: Any, emissions: Tensor, start: Tensor, between: Tensor, end: Tensor, mask: Tensor
    ) -> Tensor:
        steps = emissions.transpose(0, 1)  # (time, rows, labels)
        heights = steps.amax(2)  # (time, rows)
        potentials = (steps - heights.unsqueeze(2)).exp_()
        order = reversal(mask).T  # (time, rows)
        back = potentials.gather(0, order.unsqueeze(2).expand_as(potentials))
        both = torch.stack([potentials, back], dim=1)  # (time, direction, rows, labels)
        top = between.max()
        moves = (between - top).exp()
        moves = torch.stack([moves, moves.T])  # (direction, labels, labels)
        edges = torch.stack([start - start.max(), end - end.max()]).exp_()  # (direction, labels)
        arriving, carried, scales = _scan(both, moves, edges)
        before = carried[:, 0]  # (time, rows, labels)
        after = arriving[:, 1].gather(0, order.unsqueeze(2).expand_as(before))
        joint = before * after  # proportional to the probability of a label at a step
        mass = joint.sum(2, keepdim=True)  # (time, rows, 1)
        inside = mask.T  # (time, rows)
        last = (mask.sum(1) - 1).unsqueeze(0)  # (1, rows)
        ctx.save_for_backward(joint / mass, before / mass, carried[:, 1], order, moves[0], mask)
        scaled = (scales[:, 0].log() + heights + top) * inside
        closing = mass.squeeze(2).gather(0, last).squeeze(0).log() + end.max()
        return scaled.sum(0) + closing + start.max() - top

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        marginals, before, back, order, moves, mask = ctx.saved_tensors
        weights = gradient.unsqueeze(1) * mask  # (rows, time)
        expected = marginals * weights.T.unsqueeze(2)  # (time, rows, labels)
        following = back.gather(0, order.unsqueeze(2).expand_as(back))[1:]  # (time - 1, rows, labels)
        pairs = before[:-1] * weights.T[1:].unsqueeze(2)
        counted = moves * (pairs.flatten(0, 1).T @ following.flatten(0, 1))  # (labels, labels)
        last = (mask.sum(1) - 1).view(1, -1, 1).expand(1, -1, expected.shape[2])
        ended = expected.gather(0, last).squeeze(0)  # (rows, labels)
        return expected.transpose(0, 1), expected[0].sum(0), counted, ended.sum(0), None


def _scan(potentials: Tensor, moves: Tensor, edges: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For every step: the message that arrives, it times the emission scaled to one, and the scale."""
    arriving, carried = torch.empty_like(potentials), torch.empty_like(potentials)
    scales = potentials.new_empty(potentials.shape[:-1])  # (time, direction, rows)
    arriving[0] = edges.unsqueeze(1)
    for step in range(len(potentials)):
        if step:
            torch.bmm(carried[step - 1], moves, out=arriving[step])
        message = torch.mul(arriving[step], potentials[step], out=carried[step])  # (direction, rows, labels)
        scale = torch.sum(message, dim=2, out=scales[step])
        message.div_(scale.unsqueeze(2))
    return arriving, carried, scales


def reversal(mask: Tensor) -> Tensor:
    """Positions that turn each row round inside its own length and leave padding in place, (rows, time)."""
    positions = torch.arange(mask.shape[1], device=mask.device).expand(mask.shape)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - positions, positions)
