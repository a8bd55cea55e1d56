"""The bidirectional language model without its softmax (the paper's section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor, nn

from elmo_bench.bilm.lstm import LstmStack, ProjectedLstm, State
from elmo_bench.bilm.options import BilmOptions
from elmo_bench.bilm.token_encoder import Highway, TokenEncoder


@dataclass(frozen=True)
class BilmStates:
    """The LSTM states of every layer in both directions, to carry into the next batch."""

    forward: Sequence[State]
    backward: Sequence[State]


class BiLM(nn.Module):
    """A shared token encoder under two stacks of LSTMs that never meet."""

    def __init__(self, options: BilmOptions, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.options = options
        self.token_encoder = TokenEncoder(options)
        self.forward_stack = LstmStack(options)
        self.backward_stack = LstmStack(options)
        initialise(self, generator)

    def forward(
        self, tokens: Tensor, lengths: Tensor, states: BilmStates | None = None
    ) -> tuple[Tensor, BilmStates]:
        """Token vectors (rows, time, dim), marks included, to layers (rows, layers, time, 2 * dim)."""
        before = states or BilmStates(forward=(), backward=())
        ahead, forward = self.forward_stack(tokens, lengths, before.forward or None)
        back, backward = self.backward_stack(
            reverse_inside(tokens, lengths), lengths, before.backward or None
        )
        layers = [torch.cat([tokens, tokens], dim=2)]
        for ahead_layer, back_layer in zip(ahead, back, strict=True):
            layers.append(torch.cat([ahead_layer, reverse_inside(back_layer, lengths)], dim=2))
        return torch.stack(layers, dim=1), BilmStates(forward, backward)


def reverse_inside(sequences: Tensor, lengths: Tensor) -> Tensor:
    """Turn each row of (rows, time, dim) round inside its own length; padding stays where it is."""
    places = torch.arange(sequences.shape[1], device=sequences.device)  # (time,)
    mirrored = lengths.unsqueeze(1) - 1 - places  # (rows, time)
    index = torch.where(mirrored >= 0, mirrored, places)
    return sequences.gather(1, index.unsqueeze(2).expand_as(sequences))


@torch.no_grad()
def initialise(model: BiLM, generator: torch.Generator | None = None) -> None:
    """Draw the weights of a model before training, as bilm-tf does."""
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.weight.uniform_(-1.0, 1.0, generator=generator)
            module.weight[0].zero_()
        elif isinstance(module, nn.Conv1d):
            module.weight.uniform_(-0.05, 0.05, generator=generator)
            assert module.bias is not None
            module.bias.zero_()
        elif isinstance(module, nn.Linear):
            module.weight.normal_(0.0, sqrt(1.0 / module.in_features), generator=generator)
            module.bias.zero_()
        elif isinstance(module, ProjectedLstm):
            _initialise_lstm(module, generator)
    for module in model.modules():
        if isinstance(module, Highway):
            module.gate.bias.fill_(-2.0)  # at first the highway mostly passes its input on


def _initialise_lstm(layer: ProjectedLstm, generator: torch.Generator | None) -> None:
    """Glorot-uniform over the joint kernel of input and state, TensorFlow's default."""
    gates, dim = layer.input_weight.shape
    bound = sqrt(6.0 / (2 * dim + gates))
    layer.input_weight.uniform_(-bound, bound, generator=generator)
    layer.state_weight.uniform_(-bound, bound, generator=generator)
    layer.bias.zero_()
    if layer.projection_weight is not None:
        bound = sqrt(6.0 / sum(layer.projection_weight.shape))
        layer.projection_weight.uniform_(-bound, bound, generator=generator)
