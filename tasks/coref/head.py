"""Coreference: every span is a candidate mention, and every mention chooses an antecedent or none.

The model is that of Lee et al. (2017). It scores spans as mentions (`spans`), keeps the best, and scores each
kept span with the spans before it (`antecedents`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.data.word_table import WordTable
from elmo_bench.nn.dropout import Dropout
from elmo_bench.nn.layers import CharacterCnns, WordEmbedding
from elmo_bench.task import Rate
from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths

from .antecedents import AntecedentScorer
from .lstm import CoupledBiLstm
from .spans import Spans, SpanScorer, keep_best
from .windows import Window

NOBODY = -1  # instead of an antecedent, and where a document of a batch has fewer spans than another


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class CorefHeadSettings:
    """Sizes and rates of the head; conf/task/coref.yaml has the values and where they are from."""

    character_dim: PositiveInt
    character_filters: PositiveInt
    character_widths: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    hidden: PositiveInt  # per direction
    feature_dim: PositiveInt
    scorer_hidden: PositiveInt
    word_dropout: Rate  # words read as unknown in training; not the paper's
    lexical_dropout: Rate  # of words and characters
    dropout: Rate  # of states, features and hidden layers
    longest_span: PositiveInt  # in words
    spans_per_word: PositiveFloat
    antecedents: PositiveInt  # kept spans before a span that may be its antecedent
    training_sentences: PositiveInt  # longer documents are cut to a random window


class CorefHead(nn.Module):
    """[words; characters; ELMo] -> BiLSTM -> [.; ELMo] -> spans -> mentions -> antecedents."""

    fitting: ClassVar[Literal["gradient"]] = "gradient"

    def __init__(self, settings: CorefHeadSettings, vocabularies: Vocabularies, widths: Widths) -> None:
        super().__init__()
        self.settings = settings
        self.words = WordEmbedding(with_unit_vectors(vocabularies.words), settings.word_dropout)
        self.characters = CharacterCnns(
            len(vocabularies["characters"]),
            settings.character_dim,
            settings.character_filters,
            settings.character_widths,
        )
        lexical = self.words.dim + self.characters.dim
        self.lstm = CoupledBiLstm(lexical + widths.at_input, settings.hidden, settings.dropout)
        self.lexical_dropout = Dropout(settings.lexical_dropout)
        self.dropout = Dropout(settings.dropout)
        scorer = settings.feature_dim, settings.scorer_hidden
        states = self.lstm.dim + widths.at_output
        self.spans = SpanScorer(states, lexical, *scorer, settings.longest_span, settings.dropout)
        self.antecedents = AntecedentScorer(
            self.spans.dim,
            settings.feature_dim,
            len(vocabularies["genres"]),
            settings.scorer_hidden,
            settings.antecedents,
            settings.dropout,
        )

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        """The mean over documents of the summed -log P(a gold antecedent), and the best antecedents."""
        document = injected["document"]
        window = Window.of(batch.streams["document"].rows_per_example, document.mask, self._limit())
        mask = document.mask[window.rows]  # (rows, time)
        words = self.words(window.select(batch.fields["words"]))  # (rows, time, dim)
        characters = self.characters(window.select(batch.fields["characters"]))
        # ELMo is the LSTM's alone: the head words of a span are attended to as words and characters
        lexical = self.lexical_dropout(torch.cat([words, characters], dim=2))
        states = self.lstm(torch.cat([lexical, document.at_input[window.rows]], dim=2), mask)
        states = torch.cat([self.dropout(states), document.at_output[window.rows]], dim=2)[mask]
        lexical = lexical[mask]  # (tokens, lexical)
        spans = self.spans(states, lexical, window.left(mask))
        losses, kept_spans, antecedents = [], [], []
        for number, tokens in enumerate(window.tokens(mask)):
            kept = self._prune(spans, tokens)
            vectors = self.spans.represent(spans, kept, states, lexical)  # (kept, dim)
            # where the kept spans stand in their document, whatever the window
            place = window.skipped[number] - tokens.start
            found = torch.stack([spans.starts[kept], spans.ends[kept] + 1], dim=1) + place  # (kept, 2)
            speakers = batch.fields["speakers"][number][found[:, 0]]
            genre = batch.fields["genre"][number]
            clusters = gold_clusters(found, batch.fields["mentions"][number])
            loss, chosen = self._choose(vectors, spans.scores[kept], speakers, genre, clusters)
            losses.append(loss)
            kept_spans.append(found)
            antecedents.append(chosen)
        scores = {
            "spans": pad_sequence(kept_spans, batch_first=True, padding_value=NOBODY),  # (documents, kept, 2)
            "antecedents": pad_sequence(antecedents, batch_first=True, padding_value=NOBODY),
        }
        return HeadOutput(torch.stack(losses).mean(), scores)

    def decode(self, output: HeadOutput, batch: Batch) -> list[list[list[list[int]]]]:
        """The clusters of each document: mentions [start, end), linked through their antecedents."""
        spans, antecedents = (output.scores[name].tolist() for name in ("spans", "antecedents"))
        return [linked(*document) for document in zip(spans, antecedents, strict=True)]

    def _limit(self) -> int | None:
        return self.settings.training_sentences if self.training else None

    def _prune(self, spans: Spans, tokens: slice) -> Tensor:
        """Numbers of the best spans of one document, in order of position, (kept,)."""
        borders = torch.tensor([tokens.start, tokens.stop], device=spans.starts.device)
        own = slice(*torch.searchsorted(spans.starts, borders).tolist())
        order = spans.scores[own].detach().argsort(descending=True, stable=True).tolist()
        count = max(1, math.floor(self.settings.spans_per_word * (tokens.stop - tokens.start)))
        kept = keep_best(spans.starts[own].tolist(), spans.ends[own].tolist(), order, count)
        numbers = torch.tensor(kept, device=spans.starts.device)
        return numbers + int(own.start)

    def _choose(
        self, vectors: Tensor, mentions: Tensor, speakers: Tensor, genre: Tensor, clusters: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The summed loss of one document, and every kept span's best antecedent or NOBODY, (kept,)."""
        losses, chosen = [], []
        for band in self.antecedents(vectors, mentions, speakers, genre):
            scores = F.pad(band.scores, (1, 0))  # (rows, 1 + columns); choosing none scores 0
            row_clusters = clusters[band.rows].unsqueeze(1)
            gold = (row_clusters == clusters[band.columns]) & (row_clusters > 0) & band.scores.isfinite()
            gold = torch.cat([~gold.any(1, keepdim=True), gold], dim=1)  # none, where no gold one was kept
            likelihood = scores.masked_fill(~gold, -math.inf).logsumexp(1)
            losses.append((scores.logsumexp(1) - likelihood).sum())
            best = scores.detach().argmax(1)  # (rows,)
            chosen.append(torch.where(best > 0, best - 1 + band.columns.start, NOBODY))
        return torch.stack(losses).sum(), torch.cat(chosen)


def with_unit_vectors(table: WordTable) -> WordTable:
    """The same table with the vectors of each of its files at length 1; other words stay as they are."""
    matrix = table.matrix.clone()
    widths = list(table.widths) or table.dim
    for known in torch.split(matrix[2 : 2 + table.from_file], widths, dim=1):
        known.copy_(F.normalize(known, dim=1))
    return replace(table, matrix=matrix)


def gold_clusters(spans: Tensor, mentions: Tensor) -> Tensor:
    """The number of every span's gold cluster, 0 where it is no gold mention, (kept,)."""
    numbers = {(start, end): cluster for start, end, cluster in mentions.tolist()}
    found = [numbers.get((start, end), 0) for start, end in spans.tolist()]
    return torch.tensor(found, device=spans.device)


def linked(spans: Sequence[Sequence[int]], antecedents: Sequence[int]) -> list[list[list[int]]]:
    """Clusters from each span's antecedent, which stands before it in the list."""
    cluster_of: dict[int, list[list[int]]] = {}
    clusters: list[list[list[int]]] = []
    for span, antecedent in enumerate(antecedents):
        if antecedent == NOBODY:
            continue
        if antecedent not in cluster_of:
            cluster_of[antecedent] = [list(spans[antecedent])]
            clusters.append(cluster_of[antecedent])
        cluster_of[antecedent].append(list(spans[span]))
        cluster_of[span] = cluster_of[antecedent]
    return clusters
