"""Named entity recognition (CoNLL-2003; paper A.7): find and classify names of persons, places and so on.

The head: words, characters and ELMo, two BiLSTM layers, and a conditional random field over BIOUL tags.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import ClassVar, Literal

import torch
from pydantic import ConfigDict, PositiveInt
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from elmo_bench.data.columns import tagged_columns
from elmo_bench.data.conll2003 import read_entities
from elmo_bench.data.excerpts import locate
from elmo_bench.data.tags import OUTSIDE, chunks_of, convert_tags, split_tag
from elmo_bench.data.tokens import name_span, undo_escapes
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary, spell
from elmo_bench.metrics.entities import count_entities, score_entities
from elmo_bench.nn.crf import Crf, bioul_constraints
from elmo_bench.nn.dropout import VariationalDropout
from elmo_bench.nn.layers import CharacterCnn, WordEmbedding
from elmo_bench.nn.lstm import BiLstm
from elmo_bench.nn.packing import Packing
from elmo_bench.nn.products import multiply_with_gradient
from elmo_bench.task import Rate, Task
from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths
from elmo_bench.types import Counts, Excerpt, Prediction, Scores, SplitFiles, UsageError, Words


@dataclass(frozen=True)
class NerExample:
    """One sentence with its tags in IOB2."""

    id: str
    words: Words
    tags: tuple[str, ...]
    excerpt: Excerpt | None = field(default=None, compare=False, repr=False)  # where it stands


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class NerHeadSettings:
    """Sizes and rates of the head; conf/task/ner.yaml has the values and their sources."""

    character_dim: PositiveInt
    character_filters: PositiveInt
    character_width: PositiveInt
    lower_hidden: PositiveInt  # per direction
    upper_hidden: PositiveInt
    word_dropout: Rate  # fraction of words read as unknown in training; not in the paper
    dropout: Rate  # on the input of both BiLSTMs; rate from AllenNLP


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class NerTask(Task[NerExample]):
    """CoNLL-2003's task on any column file; tags are BIOUL internally and IOB2 in predictions."""

    head: NerHeadSettings

    version: ClassVar[int] = 1
    metric: ClassVar[str] = "f1"
    higher_is_better: ClassVar[bool] = True

    def read(self, files: SplitFiles) -> Iterator[NerExample]:
        """The sentences of the files in order."""
        if files.format != "columns":
            raise UsageError(f"format={files.format}: task ner reads columns")
        sentences = (pair for path in files.paths for pair in locate(read_entities(path)))
        for number, (sentence, excerpt) in enumerate(sentences, start=1):
            yield NerExample(f"{files.split}-{number}", undo_escapes(sentence.words), sentence.tags, excerpt)

    def sentences(self, example: NerExample) -> Mapping[str, tuple[Words, ...]]:
        return {"text": (example.words,)}

    def excerpts(self, example: NerExample) -> Mapping[str, tuple[Excerpt, ...]] | None:
        return {"text": (example.excerpt,)} if example.excerpt else None

    def vocabularies(self, examples: Sequence[NerExample]) -> Mapping[str, Vocabulary]:
        """Characters, and all tags of every entity type in the training set, including unseen tags."""
        kinds = {split_tag(tag)[1] for example in examples for tag in example.tags if tag != OUTSIDE}
        return {
            "characters": Vocabulary.open(c for example in examples for word in example.words for c in word),
            "tags": Vocabulary.closed(
                [OUTSIDE, *(f"{prefix}-{kind}" for kind in kinds for prefix in "BILU")]
            ),
        }

    def index(self, example: NerExample, vocabularies: Vocabularies) -> Mapping[str, Tensor]:
        characters, tags = vocabularies["characters"], vocabularies["tags"]
        bioul = convert_tags(example.tags, "BIOUL")
        # a type that a small training subset lacks cannot be predicted; the loss treats it as O
        known = [tag if tag in tags else OUTSIDE for tag in bioul]
        return {
            "words": vocabularies.words.ids(example.words),  # (time,)
            "characters": spell(example.words, characters),  # (time, characters)
            "tags": torch.tensor(tags.ids(known)),  # (time,)
        }

    def build_head(self, vocabularies: Vocabularies, widths: Widths) -> NerHead:
        return NerHead(self.head, vocabularies, widths)

    def gold(self, example: NerExample) -> Prediction:
        return list(example.tags)

    def answers(self, example: NerExample, prediction: Prediction) -> Mapping[str, str]:
        """The type of every entity."""
        chunks = chunks_of(prediction)
        return {name_span(example.words, start, end): label for label, start, end in chunks}

    def count(self, example: NerExample, prediction: Prediction) -> Counts:
        return count_entities(example.tags, prediction)

    def score(self, counts: Sequence[Counts]) -> Scores:
        return score_entities(counts)

    def render(self, examples: Sequence[NerExample], predictions: Sequence[Prediction]) -> str:
        """Columns `word gold predicted`, as conlleval reads them."""
        return tagged_columns(
            (row.words, row.tags, tags) for row, tags in zip(examples, predictions, strict=True)
        )


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
        packing = Packing.of(text.mask)
        inputs = packing.pack(torch.cat([words, characters, text.at_input], dim=2))  # (tokens, inputs)
        lower = self.lower.read(self.dropout.drop_packed(inputs, packing), packing)
        upper = self.upper.read(self.dropout.drop_packed(lower, packing), packing)
        states = torch.cat([upper, packing.pack(text.at_output)], dim=1)  # (tokens, states)
        emissions = packing.unpack(multiply_with_gradient(states, self.emit.weight, self.emit.bias))
        loss: Tensor = self.crf(emissions, text.mask, batch.fields["tags"]).mean()
        return HeadOutput(loss, {"emissions": emissions})

    def decode(self, output: HeadOutput, batch: Batch) -> list[list[str]]:
        """The best legal tags of each sentence, in IOB2."""
        paths = self.crf.decode(output.scores["emissions"], batch.streams["text"].mask)
        return [list(convert_tags([self.tags[tag] for tag in path], "IOB2")) for path in paths]
