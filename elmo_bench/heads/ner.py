"""Named entities: two BiLSTM layers and a conditional random field (paper A.7, SPEC 3.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from elmo_bench.data.tags import convert_tags
from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.nn.constraints import bioul_constraints
from elmo_bench.nn.crf import Crf
from elmo_bench.nn.layers import BiLstm, CharacterCnn, VariationalDropout, WordEmbedding
from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class NerHeadSettings:
    """Sizes and rates of the head; the defaults are the paper's where it states them."""

    character_dim: int = Field(default=16, gt=0)
    character_filters: int = Field(default=128, gt=0)
    character_width: int = Field(default=3, gt=0)
    lower_hidden: int = Field(default=200, gt=0)  # per direction
    upper_hidden: int = Field(default=100, gt=0)
    word_dropout: float = Field(default=0.0, ge=0, lt=1)  # words read as unknown in training; not the paper's
    dropout: float = Field(default=0.5, ge=0, lt=1)  # on the input of both BiLSTMs; rate from AllenNLP


class NerHead(nn.Module):
    """[words; characters; ELMo] -> BiLSTM -> BiLSTM -> [.; ELMo] -> CRF over BIOUL tags."""

    fitting: ClassVar[Literal["gradient"]] = "gradient"

    def __init__(self, settings: NerHeadSettings, vocabularies: Vocabularies, widths: Widths) -> None:
        super().__init__()
        self.tags = vocabularies["tags"].items
        self.words = WordEmbedding(vocabularies.words, settings.word_dropout)
        self.characters = CharacterCnn(
            len(vocabularies["characters"]),
            settings.character_dim,
            settings.character_filters,
            settings.character_width,
        )
        self.dropout = VariationalDropout(settings.dropout)
        inputs = self.words.dim + self.characters.dim + widths.at_input
        self.lower = BiLstm(inputs, settings.lower_hidden)
        self.upper = BiLstm(self.lower.dim, settings.upper_hidden)
        self.emit = nn.Linear(self.upper.dim + widths.at_output, len(self.tags))
        self.crf = Crf(bioul_constraints(self.tags))

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        """The mean negative log-likelihood of the gold tags, and every tag's emission score."""
        text = injected["text"]
        words, characters = self.words(batch.fields["words"]), self.characters(batch.fields["characters"])
        inputs = torch.cat([words, characters, text.at_input], dim=2)  # (rows, time, inputs)
        lower = self.lower(self.dropout(inputs), text.mask)
        upper = self.upper(self.dropout(lower), text.mask)
        emissions = self.emit(torch.cat([upper, text.at_output], dim=2))  # (rows, time, tags)
        loss: Tensor = self.crf(emissions, text.mask, batch.fields["tags"]).mean()
        return HeadOutput(loss, {"emissions": emissions})

    def decode(self, output: HeadOutput, batch: Batch) -> list[list[str]]:
        """The best legal tags of each sentence, in IOB2."""
        paths = self.crf.decode(output.scores["emissions"], batch.streams["text"].mask)
        return [list(convert_tags([self.tags[tag] for tag in path], "IOB2")) for path in paths]
