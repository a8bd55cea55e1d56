"""Semantic roles: eight highway LSTM layers of alternating direction and constrained decoding (SPEC 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.data.tags import chunks_of
from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.nn.constraints import bio_constraints
from elmo_bench.nn.crf import penalties, viterbi
from elmo_bench.nn.layers import HighwayLstm, WordEmbedding, initialise_orthogonal
from elmo_bench.nn.recurrence import Packing
from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SrlHeadSettings:
    """Sizes and rates of the head; the defaults are the paper's."""

    flag_dim: int = Field(default=100, gt=0)
    layers: int = Field(default=8, gt=0)
    hidden: int = Field(default=300, gt=0)
    dropout: float = Field(default=0.1, ge=0, lt=1)  # of every layer's new states


class SrlHead(nn.Module):
    """[words; ELMo; is it the predicate] -> alternating highway LSTMs -> [.; ELMo] -> BIO tags."""

    fitting: ClassVar[Literal["gradient"]] = "gradient"
    illegal_start: Tensor
    illegal_between: Tensor
    illegal_end: Tensor

    def __init__(self, settings: SrlHeadSettings, vocabularies: Vocabularies, widths: Widths) -> None:
        super().__init__()
        self.tags = vocabularies["tags"].items
        self.words = WordEmbedding(vocabularies.words)
        self.flags = nn.Embedding(2, settings.flag_dim)
        sizes = [self.words.dim + widths.at_input + settings.flag_dim] + [settings.hidden] * settings.layers
        self.layers = nn.ModuleList(
            HighwayLstm(inputs, settings.hidden, settings.dropout) for inputs in sizes[:-1]
        )
        self.emit = nn.Linear(settings.hidden + widths.at_output, len(self.tags))
        initialise_orthogonal(self.emit.weight, blocks=1)
        nn.init.zeros_(self.emit.bias)
        legal = bio_constraints(self.tags)
        self.register_buffer("illegal_start", penalties(legal.start), persistent=False)
        self.register_buffer("illegal_between", penalties(legal.between), persistent=False)
        self.register_buffer("illegal_end", penalties(legal.end), persistent=False)

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        """The mean over sentences of their mean token loss, as AllenNLP has it, and every tag's score."""
        text = injected["text"]
        words, flags = self.words(batch.fields["words"]), self.flags(batch.fields["predicate"])
        packing = Packing.of(text.mask)
        states = packing.pack(torch.cat([words, text.at_input, flags], dim=2))  # (tokens, inputs)
        for layer in self.layers:
            states = packing.turn(layer(states, packing))  # the next one reads the other way
        if len(self.layers) % 2:
            states = packing.turn(states)  # (tokens, hidden), left to right again
        logits = self.emit(torch.cat([states, packing.pack(text.at_output)], dim=1))  # (tokens, tags)
        losses = F.cross_entropy(logits, batch.fields["tags"].flatten()[packing.forwards], reduction="none")
        loss = (packing.unpack(losses.unsqueeze(1), text.mask).squeeze(2).sum(1) / text.mask.sum(1)).mean()
        return HeadOutput(loss, {"emissions": packing.unpack(logits, text.mask)})

    def probabilities(self, output: HeadOutput, batch: Batch) -> Mapping[str, Tensor]:
        """The chance of every tag for every token; legality is left to decode (He et al. 2017)."""
        return {"emissions": output.scores["emissions"].softmax(dim=2)}

    def decode(self, output: HeadOutput, batch: Batch) -> list[list[list[str | int]]]:
        """The phrases [label, start, end] of each predicate from its best legal tags."""
        paths = viterbi(
            output.scores["emissions"],
            batch.streams["text"].mask,
            self.illegal_start,
            self.illegal_between,
            self.illegal_end,
        )
        chunks = [chunks_of([self.tags[tag] for tag in path]) for path in paths]
        return [[[chunk.label, chunk.start, chunk.end] for chunk in row] for row in chunks]
