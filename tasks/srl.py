"""Semantic role labelling (CoNLL-2012; paper A.5): who did what to whom, for one given predicate at a time.

The head (He et al. 2017): highway LSTM layers of alternating direction, then decoding of legal tags only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import ClassVar, Literal

import torch
from pydantic import ConfigDict, PositiveInt
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.data.brackets import Proposition
from elmo_bench.data.columns import read_columns
from elmo_bench.data.conll2005 import read_props
from elmo_bench.data.conll2012 import read_documents
from elmo_bench.data.excerpts import locate
from elmo_bench.data.tags import OUTSIDE, Chunk, chunks_of, tags_of
from elmo_bench.data.tokens import name_span, undo_escapes
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.metrics.arguments import VERB, count_arguments, score_arguments
from elmo_bench.nn.crf import bio_constraints, penalties, viterbi
from elmo_bench.nn.initialisation import draw_orthogonal, make_embedding
from elmo_bench.nn.layers import WordEmbedding
from elmo_bench.nn.lstm import HighwayLstm
from elmo_bench.nn.packing import Packing
from elmo_bench.nn.products import multiply_with_gradient
from elmo_bench.task import Rate, Task
from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths
from elmo_bench.types import (
    Counts,
    DataError,
    Excerpt,
    Prediction,
    Scores,
    SplitFiles,
    UsageError,
    Words,
)


@dataclass(frozen=True)
class SrlExample:
    """One sentence and one of its predicates with the phrases around it."""

    id: str
    words: Words
    predicate: int
    phrases: tuple[Chunk, ...]
    excerpt: Excerpt | None = field(default=None, compare=False, repr=False)  # where it stands


@dataclass(frozen=True)
class AnnotatedSentence:
    """The content of a sentence in both formats; tags are empty if the format has none."""

    words: Words
    tags: tuple[str, ...]
    propositions: tuple[Proposition, ...]
    excerpt: Excerpt | None


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SrlHeadSettings:
    """Sizes and rates of the head; conf/task/srl.yaml has the values and their sources."""

    flag_dim: PositiveInt
    layers: PositiveInt
    hidden: PositiveInt
    dropout: Rate  # on the states of every layer


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SrlTask(Task[SrlExample]):
    """PropBank roles of gold predicates; labels are BIO tags internally and phrases in predictions."""

    head: SrlHeadSettings
    predicates: Literal["verbs", "all"]  # verbs: by part of speech, if the format has it

    version: ClassVar[int] = 1
    metric: ClassVar[str] = "f1"
    higher_is_better: ClassVar[bool] = True

    def read(self, files: SplitFiles) -> Iterator[SrlExample]:
        """One example per predicate; sentences without one are skipped."""
        for number, sentence in enumerate(read_annotated(files), start=1):
            words = undo_escapes(sentence.words)
            for place, proposition in enumerate(sentence.propositions, start=1):
                tag = sentence.tags[proposition.predicate] if sentence.tags else "V"
                if self.predicates == "all" or tag.startswith("V"):
                    name = f"{files.split}-{number}-{place}"
                    yield SrlExample(
                        name, words, proposition.predicate, proposition.phrases, sentence.excerpt
                    )

    def sentences(self, example: SrlExample) -> Mapping[str, tuple[Words, ...]]:
        return {"text": (example.words,)}

    def excerpts(self, example: SrlExample) -> Mapping[str, tuple[Excerpt, ...]] | None:
        return {"text": (example.excerpt,)} if example.excerpt else None

    def vocabularies(self, examples: Sequence[SrlExample]) -> Mapping[str, Vocabulary]:
        """Both tags of every label in the training set."""
        labels = {phrase.label for example in examples for phrase in example.phrases}
        return {
            "tags": Vocabulary.closed(
                [OUTSIDE, *(f"{prefix}-{label}" for label in labels for prefix in "BI")]
            )
        }

    def index(self, example: SrlExample, vocabularies: Vocabularies) -> Mapping[str, Tensor]:
        tags = vocabularies["tags"]
        gold = tags_of(separate_phrases(example.phrases), len(example.words), "IOB2")
        # a label that the training set lacks cannot be predicted; the loss treats it as O
        known = [tag if tag in tags else OUTSIDE for tag in gold]
        flags = torch.zeros(len(example.words), dtype=torch.long)
        flags[example.predicate] = 1
        return {
            "words": vocabularies.words.ids(example.words),  # (time,)
            "predicate": flags,  # (time,)
            "tags": torch.tensor(tags.ids(known)),  # (time,)
        }

    def build_head(self, vocabularies: Vocabularies, widths: Widths) -> SrlHead:
        return SrlHead(self.head, vocabularies, widths)

    def gold(self, example: SrlExample) -> Prediction:
        return [[phrase.label, phrase.start, phrase.end] for phrase in example.phrases]

    def answers(self, example: SrlExample, prediction: Prediction) -> Mapping[str, str]:
        """The role of every phrase for the predicate."""
        verb = name_span(example.words, example.predicate, example.predicate + 1)
        return {
            f"{verb}: {name_span(example.words, start, end)}": label
            for label, start, end in prediction
            if label != VERB
        }

    def count(self, example: SrlExample, prediction: Prediction) -> Counts:
        return count_arguments(example.phrases, [Chunk(*phrase) for phrase in prediction])

    def score(self, counts: Sequence[Counts]) -> Scores:
        return score_arguments(counts)


def read_annotated(files: SplitFiles) -> Iterator[AnnotatedSentence]:
    """The sentences of a split in either format."""
    if files.format == "conll2012":
        for path in files.paths:
            sentences = (row for document in read_documents(path) for row in document.sentences)
            for sentence, excerpt in locate(sentences):
                yield AnnotatedSentence(sentence.words, sentence.tags, sentence.propositions(), excerpt)
    elif files.format == "conll2005":
        yield from _read_conll2005(files)
    else:
        raise UsageError(f"format={files.format}: task srl reads conll2012 and conll2005")


def _read_conll2005(files: SplitFiles) -> Iterator[AnnotatedSentence]:
    """Words (first column) of one file with the propositions of another."""
    if len(files.paths) != 2:
        raise UsageError(
            f"data.{files.split}: conll2005 needs two files, words and props, got {len(files.paths)}"
        )
    words, props = files.paths
    texts = [sentence.column(0) for sentence in read_columns(words, minimum=1)]
    annotated = list(read_props(props))
    for text, sentence in zip(texts, annotated, strict=False):
        if len(text) != sentence.length:
            wanted = f"{len(text)} rows, one per word in {words.name}"
            raise DataError(f"{props}:{sentence.line}: expected {wanted}, got {sentence.length}")
        yield AnnotatedSentence(text, (), sentence.propositions, None)
    if len(texts) != len(annotated):
        wanted = f"{len(texts)} sentences, as in {words.name}"
        raise DataError(f"{props}:{annotated[-1].line}: expected {wanted}, got {len(annotated)}")


def separate_phrases(phrases: Sequence[Chunk]) -> list[Chunk]:
    """Phrases that do not overlap, because tags cannot represent others: verb first, outer before inner."""
    kept: list[Chunk] = []
    for phrase in sorted(phrases, key=lambda phrase: (phrase.label != VERB, phrase.start, -phrase.end)):
        if all(phrase.end <= other.start or other.end <= phrase.start for other in kept):
            kept.append(phrase)
    return kept


class SrlHead(nn.Module):
    """[words; ELMo; is it the predicate] -> alternating highway LSTMs -> [.; ELMo] -> BIO tags."""

    fitting: ClassVar[Literal["gradient"]] = "gradient"
    start_penalties: Tensor
    between_penalties: Tensor
    end_penalties: Tensor

    def __init__(self, settings: SrlHeadSettings, vocabularies: Vocabularies, widths: Widths) -> None:
        super().__init__()
        self.tags = vocabularies["tags"].items
        self.words = WordEmbedding(vocabularies.words)
        self.flags = make_embedding(2, settings.flag_dim)
        sizes = [self.words.dim + widths.at_input + settings.flag_dim] + [settings.hidden] * settings.layers
        self.layers = nn.ModuleList(
            HighwayLstm(inputs, settings.hidden, settings.dropout) for inputs in sizes[:-1]
        )
        self.emit = nn.Linear(settings.hidden + widths.at_output, len(self.tags))
        draw_orthogonal(self.emit.weight, blocks=1)
        nn.init.zeros_(self.emit.bias)
        legal = bio_constraints(self.tags)
        self.register_buffer("start_penalties", penalties(legal.start), persistent=False)
        self.register_buffer("between_penalties", penalties(legal.between), persistent=False)
        self.register_buffer("end_penalties", penalties(legal.end), persistent=False)

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        """The mean over sentences of their mean token loss, as in AllenNLP, and every tag's score."""
        text = injected["text"]
        words, flags = self.words(batch.fields["words"]), self.flags(batch.fields["predicate"])
        packing = Packing.of(text.mask)
        states = packing.pack(torch.cat([words, text.at_input, flags], dim=2))  # (tokens, inputs)
        for layer in self.layers:
            states = packing.turn(layer(states, packing))  # the next one reads in the other direction
        if len(self.layers) % 2:
            states = packing.turn(states)  # (tokens, hidden), left to right again
        states = torch.cat([states, packing.pack(text.at_output)], dim=1)
        logits = multiply_with_gradient(states, self.emit.weight, self.emit.bias)  # (tokens, tags)
        losses = F.cross_entropy(logits, batch.fields["tags"].flatten()[packing.forwards], reduction="none")
        loss = (packing.unpack(losses.unsqueeze(1)).squeeze(2).sum(1) / text.mask.sum(1)).mean()
        return HeadOutput(loss, {"emissions": packing.unpack(logits)})

    def probabilities(self, output: HeadOutput, batch: Batch) -> Mapping[str, Tensor]:
        """The probability of every tag for every token; `decode` ensures legality (He et al. 2017)."""
        return {"emissions": output.scores["emissions"].softmax(dim=2)}

    def decode(self, output: HeadOutput, batch: Batch) -> list[list[list[str | int]]]:
        """The phrases [label, start, end] of each predicate from its best legal tags."""
        paths = viterbi(
            output.scores["emissions"],
            batch.streams["text"].mask,
            self.start_penalties,
            self.between_penalties,
            self.end_penalties,
        )
        chunks = [chunks_of([self.tags[tag] for tag in path]) for path in paths]
        return [[[chunk.label, chunk.start, chunk.end] for chunk in row] for row in chunks]
