"""Parts of speech: one linear layer on each token's frozen vector, without context of its own (SPEC 5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.nn.layers import WordEmbedding
from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths
from elmo_bench.types import UsageError


class PosHead(nn.Module):
    """[words; ELMo] -> linear -> softmax over tags."""

    fitting: ClassVar[Literal["gradient"]] = "gradient"

    def __init__(self, vocabularies: Vocabularies, widths: Widths) -> None:
        super().__init__()
        if widths.at_output:
            raise UsageError("elmo.where: a linear probe has no recurrent layer to add to; use input or none")
        self.tags = vocabularies["tags"].items
        self.words = WordEmbedding(vocabularies.words)
        inputs = self.words.dim + widths.at_input
        # drawn as nn.Linear draws, which warns where there is neither a word vector nor ELMo
        reach = max(inputs, 1) ** -0.5
        self.weight = nn.Parameter(torch.empty(len(self.tags), inputs).uniform_(-reach, reach))
        self.bias = nn.Parameter(torch.zeros(len(self.tags)))

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        """The mean loss of the batch's tokens, and every tag's score."""
        text = injected["text"]
        words = self.words(batch.fields["words"])
        inputs = torch.cat([words, text.at_input], dim=2)  # (rows, time, inputs)
        scores = F.linear(inputs, self.weight, self.bias)  # (rows, time, tags)
        loss = F.cross_entropy(scores[text.mask], batch.fields["tags"][text.mask])
        return HeadOutput(loss, {"tags": scores})

    def probabilities(self, output: HeadOutput, batch: Batch) -> Mapping[str, Tensor]:
        """The chance of every tag for every token."""
        return {"tags": output.scores["tags"].softmax(dim=2)}

    def decode(self, output: HeadOutput, batch: Batch) -> list[list[str]]:
        """The best tag of every token."""
        best = output.scores["tags"].argmax(dim=2).tolist()
        lengths = batch.streams["text"].mask.sum(1).tolist()
        return [[self.tags[tag] for tag in row[:length]] for row, length in zip(best, lengths, strict=True)]
