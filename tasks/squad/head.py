"""Answers as spans of a text: the model of Clark and Gardner (2017), simplified as in paper A.4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from pydantic import ConfigDict, PositiveInt
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.nn.dropout import VariationalDropout
from elmo_bench.nn.initialisation import draw_glorot, draw_uniform, make_keras_linear
from elmo_bench.nn.layers import CharacterCnn, WordEmbedding
from elmo_bench.nn.packing import Packing
from elmo_bench.nn.products import multiply_with_gradient
from elmo_bench.task import Rate
from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths

from .attention import MASKED_SCORE, BiAttention, SelfAttention
from .gru import BiGru

CHARACTER_RANGE = 0.05


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SquadHeadSettings:
    """Sizes and rates of the head; conf/task/squad.yaml has the values and where they are from."""

    character_dim: PositiveInt
    character_filters: PositiveInt
    character_width: PositiveInt
    character_dropout: Rate
    word_dropout: Rate  # words read as unknown in training
    hidden: PositiveInt  # of every GRU, per direction
    dropout: Rate  # variational
    longest_answer: PositiveInt  # in tokens


class SquadHead(nn.Module):
    """[words; characters; ELMo] -> BiGRU -> [.; ELMo] -> attention both ways -> attention within -> span."""

    fitting: ClassVar[Literal["gradient"]] = "gradient"

    def __init__(self, settings: SquadHeadSettings, vocabularies: Vocabularies, widths: Widths) -> None:
        super().__init__()
        hidden, dim = settings.hidden, 2 * settings.hidden
        self.longest_answer = settings.longest_answer
        self.words = WordEmbedding(vocabularies.words, settings.word_dropout)
        self.characters = CharacterCnn(
            len(vocabularies["characters"]),
            settings.character_dim,
            settings.character_filters,
            settings.character_width,
            settings.character_dropout,
        )
        draw_uniform(self.characters.vectors.weight.data[1:], CHARACTER_RANGE)
        draw_glorot(self.characters.filters.weight, positions=settings.character_width)
        draw_glorot(self.characters.filters.bias)
        self.dropout = VariationalDropout(settings.dropout)
        self.reader = BiGru(self.words.dim + self.characters.dim + widths.at_input, hidden)
        self.between = BiAttention(dim + widths.at_output)
        self.compare = Rectified(self.between.dim, dim)
        self.rereader = BiGru(dim, hidden)
        self.within = SelfAttention(dim)
        self.reconsider = Rectified(self.within.dim, dim)
        # without bias: the softmax over tokens is blind to a constant
        self.start_reader, self.start = BiGru(dim, hidden), make_keras_linear(dim, 1, bias=False)
        self.end_reader, self.end = BiGru(2 * dim, hidden), make_keras_linear(dim, 1, bias=False)

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        """Cross-entropy of both borders, and every token's score as either."""
        packings = {name: Packing.of(injected[name].mask) for name in ("context", "question")}
        context, question = (
            self.read(injected[name], packing, batch.fields, name) for name, packing in packings.items()
        )
        packing = packings["context"]
        mask = packing.mask
        x = self.compare(self.between(context, mask, question, injected["question"].mask))
        again = self.dropout(self.rereader(self.dropout(x), packing))
        x = self.dropout(x + self.reconsider(self.within(again, mask)))  # (rows, time, dim)
        starting = self.start_reader(x, packing)
        ending = self.end_reader(torch.cat([x, starting], dim=2), packing)
        start, end = (
            score(states).squeeze(2).masked_fill(~mask, MASKED_SCORE)
            for score, states in ((self.start, starting), (self.end, ending))
        )
        first, last = batch.fields["span"].unbind(1)
        loss = F.cross_entropy(start, first) + F.cross_entropy(end, last)
        return HeadOutput(loss, {"start": start, "end": end})

    def read(self, text: Injected, packing: Packing, fields: Mapping[str, Tensor], name: str) -> Tensor:
        """One of the two texts by the GRU that they share, (rows, time, 2 * hidden + at_output)."""
        words, characters = self.words(fields[f"{name}_words"]), self.characters(fields[f"{name}_characters"])
        x = self.dropout(torch.cat([words, characters, text.at_input], dim=2))
        return torch.cat([self.dropout(self.reader(x, packing)), text.at_output], dim=2)

    def decode(self, output: HeadOutput, batch: Batch) -> list[str]:
        """The characters of the paragraph that the best span covers."""
        spans = best_spans(output.scores["start"], output.scores["end"], self.longest_answer).unsqueeze(2)
        offsets = batch.fields["offsets"].gather(1, spans.expand(-1, -1, 2))  # (rows, first and last, 2)
        begins, ends = offsets[:, 0, 0].tolist(), offsets[:, 1, 1].tolist()
        texts = zip(batch.fields["context_text"], begins, ends, strict=True)
        return ["".join(map(chr, text[begin:end].tolist())) for text, begin, end in texts]

    def probabilities(self, output: HeadOutput, batch: Batch) -> Mapping[str, Tensor]:
        """The chance of every token to be the first of the answer, and to be the last."""
        return {name: scores.softmax(1) for name, scores in output.scores.items()}


class Rectified(nn.Module):
    """A linear layer and ReLU."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = make_keras_linear(inputs, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """(rows, time, inputs) to (rows, time, outputs)."""
        product = multiply_with_gradient(x.flatten(0, 1), self.linear.weight, self.linear.bias)
        return torch.relu(product).view(*x.shape[:2], -1)


def best_spans(start: Tensor, end: Tensor, longest: int) -> Tensor:
    """First and last token of each row's best span of at most `longest` tokens, (rows, 2)."""
    ends = F.pad(end, (0, longest - 1), value=2 * MASKED_SCORE).unfold(1, longest, 1)  # (rows, time, longest)
    best = (start.unsqueeze(2) + ends).flatten(1).argmax(1)
    first = best // longest
    return torch.stack([first, first + best % longest], dim=1)
