"""ELMo's bidirectional language model (Peters et al. 2018, sections 3.1 and 3.4), from words to layers.

Read this file from top to bottom:

1. characters: a word becomes a row of 50 byte ids;
2. token encoder: the row becomes x_k, a vector that does not depend on the context;
3. projected LSTM: one layer that reads the x_k in one direction;
4. stack: L layers of one direction with skip connections;
5. biLM: both directions concatenated. Tasks mix the layers h_{k,0} ... h_{k,L} of token k.

The published model has L = 2, 4096 LSTM units (`cell_dim`, C below), 512 dimensions per direction
(`projection_dim`, P below), and 2048 character filters. Other sizes are in conf/bilm.

This is the reference implementation: `engine` computes the same layers fast, `training` computes the same
outputs with gradients, and tests compare both with this file. The comment "as published" marks the points
where the published TensorFlow implementation (bilm-tf) differs from the textbook; released weights need them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.bilm.settings import CHARACTERS_WITH_MISSING, MAXIMUM_CHARACTERS, BilmOptions
from elmo_bench.data.text import SENTENCE_END, SENTENCE_START

# ---------------------------------------------------------------------------------------------------------
# 1. Characters
#
# As published, a word is read as UTF-8 bytes, so 256 ids cover every language. Five more ids mark the
# sentence's start and end, the word's start and end, and padding. A sentence mark is a separate word:
#
#     "cat"   ->  [258, 99, 97, 116, 259, 260, 260, ...]    50 ids
#     "<S>"   ->  [258, 256, 259, 260, 260, ...]
#
# These are 261 ids, 0 to 260, and 261 learned vectors in a weight file. For inference every id is increased
# by one, and row 0, a vector of zeros, stands for a missing token (padding of a batch): 262 in options.json.
# The vector of padding inside a word, 261 after the shift, is learned and enters the convolutions.

MISSING_ID = 0
_SENTENCE_START_ID = 256 + 1
_SENTENCE_END_ID = 257 + 1
_WORD_START_ID = 258 + 1
_WORD_END_ID = 259 + 1
PADDING_ID = 260 + 1

CharacterIds = NDArray[np.int64]


def character_ids(words: Sequence[str], maximum_characters: int = MAXIMUM_CHARACTERS) -> CharacterIds:
    """One row of ids per word, (words, characters); the bytes of a word after the 48th are dropped."""
    rows = np.full((len(words), maximum_characters), PADDING_ID, dtype=np.int64)
    for row, word in zip(rows, words, strict=True):
        ids = [_WORD_START_ID, *_content_ids(word, maximum_characters - 2), _WORD_END_ID]
        row[: len(ids)] = ids
    return rows


def _content_ids(word: str, maximum_bytes: int) -> list[int]:
    if word == SENTENCE_START:
        return [_SENTENCE_START_ID]
    if word == SENTENCE_END:
        return [_SENTENCE_END_ID]
    return [byte + 1 for byte in word.encode("utf-8", "ignore")[:maximum_bytes]]


def count_characters(rows: CharacterIds) -> NDArray[np.int64]:
    """The number of ids in each row that are not padding, including the two word marks, (words,)."""
    return np.asarray((rows != PADDING_ID).sum(axis=1), dtype=np.int64)


def with_marks(words: Sequence[str]) -> list[str]:
    """A sentence with its two marks, as the network reads it."""
    return [SENTENCE_START, *words, SENTENCE_END]


def batch_characters(sentences: Sequence[Sequence[str]], maximum_characters: int) -> tuple[Tensor, Tensor]:
    """A batch of sentences with their marks: ids (rows, time, characters) and lengths (rows,)."""
    marked = [with_marks(words) for words in sentences]
    lengths = torch.tensor([len(words) for words in marked])
    ids = torch.full((len(marked), int(lengths.max()), maximum_characters), MISSING_ID)
    for row, words in zip(ids, marked, strict=True):
        row[: len(words)] = torch.from_numpy(character_ids(words, maximum_characters))
    return ids, lengths


# ---------------------------------------------------------------------------------------------------------
# 2. Token encoder: the paper's x_k^LM (section 3.4, after Kim et al. 2016)


class Highway(nn.Module):
    """Let a gate choose, dimension by dimension, between a transform and the input itself.

    g = σ(W_g x + b_g)
    y = g ⊙ ReLU(W_t x + b_t) + (1 - g) ⊙ x
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)  # called "carry" in weight files, although it opens the transform

    def forward(self, inputs: Tensor) -> Tensor:
        gate = torch.sigmoid(self.gate(inputs))
        return torch.lerp(inputs, F.relu(self.transform(inputs)), gate)


class TokenEncoder(nn.Module):
    """Character ids to token vectors: convolutions, maximum over the word, highways, projection."""

    def __init__(self, options: BilmOptions) -> None:
        super().__init__()
        self.characters = nn.Embedding(CHARACTERS_WITH_MISSING, options.character_dim, padding_idx=MISSING_ID)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(options.character_dim, count, width) for width, count in options.filters
        )
        self.widest = max(width for width, _ in options.filters)
        self.highways = nn.ModuleList(Highway(options.filter_count) for _ in range(options.highways))
        self.projection: nn.Module = (
            nn.Linear(options.filter_count, options.projection_dim)
            if options.has_token_projection
            else nn.Identity()
        )

    def forward(self, ids: Tensor) -> Tensor:
        """Character ids (words, characters) to token vectors (words, P)."""
        embedded = self.characters(self.trim(ids)).transpose(1, 2)  # (words, character_dim, characters)
        # Each filter is applied to every window of its width; the maximum over the word is kept.
        pooled = [F.relu(convolution(embedded).amax(dim=2)) for convolution in self.convolutions]
        features = torch.cat(pooled, dim=1)  # (words, filter_count)
        for highway in self.highways:
            features = highway(features)
        projected: Tensor = self.projection(features)  # (words, P)
        return projected

    def trim(self, ids: Tensor) -> Tensor:
        """Drop padding that cannot change a maximum: everything after one whole window of padding."""
        is_used = ((ids != PADDING_ID) & (ids != MISSING_ID)).any(dim=0)  # (characters,)
        if bool((ids == MISSING_ID).any()) or not bool(is_used.any()):
            return ids  # a missing token is fifty zeros, not padding
        longest = int(is_used.nonzero()[-1]) + 1
        return ids[:, : longest + self.widest]


# ---------------------------------------------------------------------------------------------------------
# 3. One LSTM layer of one direction, with a projected and clipped state (Sak et al. 2014)

State = tuple[Tensor, Tensor]
"""A layer's state after a step: the projected output h (rows, P) and the cell c (rows, C)."""


class ProjectedLstm(nn.Module):
    """One layer in one direction.

    i, f, g, o = W x_t + U h_{t-1} + b            gates, C each
    c_t = clip(σ(f + 1) ⊙ c_{t-1} + σ(i) ⊙ tanh(g))
    h_t = clip(W_P (σ(o) ⊙ tanh(c_t)))            P, without a bias

    As published: `clip` limits both cell and projection to [-3, 3]. The 1 in the forget gate is TensorFlow's
    forget bias and is not in weight files, so it is not in `bias` either (`gate_bias` adds it): a
    round trip through a file is then exact. If C = P there is no projection, and h is not clipped.
    """

    def __init__(self, options: BilmOptions) -> None:
        super().__init__()
        cell_dim, dim = options.cell_dim, options.projection_dim
        self.cell_dim = cell_dim
        self.cell_clip = options.cell_clip
        self.projection_clip = options.projection_clip
        self.input_weight = nn.Parameter(torch.zeros(4 * cell_dim, dim))  # W
        self.state_weight = nn.Parameter(torch.zeros(4 * cell_dim, dim))  # U
        self.bias = nn.Parameter(torch.zeros(4 * cell_dim))  # b
        has_projection = options.has_state_projection
        self.projection_weight = nn.Parameter(torch.zeros(dim, cell_dim)) if has_projection else None  # W_P
        forget_offset = torch.zeros(4 * cell_dim)
        forget_offset[cell_dim : 2 * cell_dim] = 1.0
        self.register_buffer("forget_offset", forget_offset, persistent=False)

    @property
    def gate_bias(self) -> Tensor:
        """The effective bias, with 1 added to the forget gate."""
        offset = self.forget_offset
        assert isinstance(offset, Tensor)
        return self.bias + offset

    def zero_state(self, rows: int) -> State:
        """The initial state of every sentence, unless the state of the previous batch is carried over."""
        weight = self.state_weight
        return weight.new_zeros(rows, weight.shape[1]), weight.new_zeros(rows, self.cell_dim)

    def forward(self, inputs: Tensor, lengths: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Inputs (rows, time, P) to outputs (rows, time, P) and each row's state after its last token.

        Outputs after a row's length are zero.
        """
        projected, cell = self.zero_state(len(inputs)) if state is None else state
        from_input = F.linear(inputs, self.input_weight, self.gate_bias)  # (rows, time, 4 * C)
        outputs = []
        for step in range(inputs.shape[1]):
            gates = from_input[:, step] + F.linear(projected, self.state_weight)  # (rows, 4 * C)
            new_projected, new_cell = self.step(gates, cell)
            is_inside = (lengths > step).unsqueeze(1)  # (rows, 1)
            projected = torch.where(is_inside, new_projected, projected)
            cell = torch.where(is_inside, new_cell, cell)
            outputs.append(new_projected * is_inside)
        return torch.stack(outputs, dim=1), (projected, cell)

    def step(self, gates: Tensor, cell: Tensor) -> State:
        """One step from gate sums (rows, 4 * C), which include the bias, and the old cell (rows, C)."""
        input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=1)
        cell = torch.sigmoid(forget_gate) * cell + torch.sigmoid(input_gate) * torch.tanh(candidate)
        if self.cell_clip is not None:
            cell = cell.clamp(-self.cell_clip, self.cell_clip)
        output = torch.sigmoid(output_gate) * torch.tanh(cell)  # (rows, C)
        if self.projection_weight is None:
            return output, cell
        projected = F.linear(output, self.projection_weight)  # (rows, P)
        if self.projection_clip is not None:
            projected = projected.clamp(-self.projection_clip, self.projection_clip)
        return projected, cell


# ---------------------------------------------------------------------------------------------------------
# 4. All layers of one direction


class LstmStack(nn.Module):
    """Stacked layers; from the second layer on, a layer's input is added to its output.

    Layer 1 has no such skip connection from the token vector (as published). The next layer, the
    softmax and the tasks read the sum; the state that a layer passes to its next step does not include it.
    """

    def __init__(self, options: BilmOptions) -> None:
        super().__init__()
        self.use_skip_connections = options.use_skip_connections
        self.layers = nn.ModuleList(ProjectedLstm(options) for _ in range(options.layers))

    def forward(
        self, inputs: Tensor, lengths: Tensor, states: Sequence[State] | None = None
    ) -> tuple[list[Tensor], list[State]]:
        """Token vectors (rows, time, P) to every layer's output, and every layer's last state."""
        outputs: list[Tensor] = []
        last_states: list[State] = []
        for index, layer in enumerate(self.layers):
            output, state = layer(inputs, lengths, None if states is None else states[index])
            if self.use_skip_connections and index > 0:
                output = output + inputs
            outputs.append(output)
            last_states.append(state)
            inputs = output
        return outputs, last_states


# ---------------------------------------------------------------------------------------------------------
# 5. Both directions

States = list[list[State]]
"""States by direction (forward, backward) and layer."""


class BiLM(nn.Module):
    """A shared token encoder below two independent stacks of LSTMs.

    The forward stack predicts t_{k+1} from t_1 ... t_k, the backward stack t_{k-1} from t_k ... t_N:

    log p(t_k | t_1 ... t_{k-1}; Θ_x, →Θ_LSTM, Θ_s) + log p(t_k | t_{k+1} ... t_N; Θ_x, ←Θ_LSTM, Θ_s)

    is maximised (section 3.1). The softmax Θ_s is needed in training only: see `training.objective`.
    """

    def __init__(self, options: BilmOptions, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.options = options
        self.token_encoder = TokenEncoder(options)  # Θ_x
        self.forward_stack = LstmStack(options)
        self.backward_stack = LstmStack(options)
        initialise(self, generator)

    def forward(self, ids: Tensor, lengths: Tensor, states: States | None = None) -> tuple[Tensor, States]:
        """Character ids (rows, time, characters), marks included, to layers (rows, L + 1, time, 2 * P).

        h_{k,0} = [x_k; x_k]      free of context
        h_{k,j} = [→h_{k,j}; ←h_{k,j}]      for j = 1 ... L

        `states` are the states after the previous batch. The published code carries them from batch to
        batch, so that a sentence's layers depend on earlier text; None starts every sentence from zeros.
        """
        tokens = self.token_encoder(ids.flatten(0, 1)).unflatten(0, ids.shape[:2])  # (rows, time, P)
        ahead, back = states or (None, None)
        forward_layers, ahead = self.forward_stack(tokens, lengths, ahead)
        backward_layers, back = self.backward_stack(reverse_inside(tokens, lengths), lengths, back)
        layers = [torch.cat([tokens, tokens], dim=2)]
        for forward, backward in zip(forward_layers, backward_layers, strict=True):
            layers.append(torch.cat([forward, reverse_inside(backward, lengths)], dim=2))
        return torch.stack(layers, dim=1), [ahead, back]


def reverse_inside(sequences: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each row of (rows, time, dim) within its length; padding stays at the end."""
    positions = torch.arange(sequences.shape[1], device=sequences.device)  # (time,)
    mirrored = lengths.unsqueeze(1) - 1 - positions  # (rows, time)
    index = torch.where(mirrored >= 0, mirrored, positions)
    return sequences.gather(1, index.unsqueeze(2).expand_as(sequences))


# ---------------------------------------------------------------------------------------------------------
# Weights before training, as published


@torch.no_grad()
def initialise(model: BiLM, generator: torch.Generator | None = None) -> None:
    """Draw all weights, in the order of the modules above."""
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.weight.uniform_(-1.0, 1.0, generator=generator)
            module.weight[MISSING_ID].zero_()
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
            module.gate.bias.fill_(-2.0)  # initially the highway mostly passes its input through


def _initialise_lstm(layer: ProjectedLstm, generator: torch.Generator | None) -> None:
    """Glorot-uniform over the joint kernel [W U] and over W_P, which is TensorFlow's default."""
    gates, dim = layer.input_weight.shape
    bound = sqrt(6.0 / (2 * dim + gates))
    layer.input_weight.uniform_(-bound, bound, generator=generator)
    layer.state_weight.uniform_(-bound, bound, generator=generator)
    layer.bias.zero_()
    if layer.projection_weight is not None:
        bound = sqrt(6.0 / sum(layer.projection_weight.shape))
        layer.projection_weight.uniform_(-bound, bound, generator=generator)
