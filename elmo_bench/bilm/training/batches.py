"""Which tokens a language model sees at which step: a pure function of the text, the seed and the step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from elmo_bench.bilm.training.text import EncodedText
from elmo_bench.data.text import SENTENCE_END, SENTENCE_START, TargetVocabulary

Numbers = NDArray[np.int64]

FORWARD, BACKWARD = 0, 1
BATCHES_PER_WINDOW = 64  # sentences are sorted by length among so many batches, so that rows end together


@dataclass(frozen=True)
class Directed:
    """What one direction reads and predicts, in its own order of time, packed: time-major without padding."""

    inputs: Numbers  # (tokens,) types; the two after the last type are the sentence marks
    targets: Numbers  # (tokens,) numbers in the target vocabulary
    counts: tuple[int, ...]  # rows alive at each step, falling


@dataclass(frozen=True)
class TextBatch:
    """One step of training, or this process's share of it."""

    forward: Directed
    backward: Directed
    predictions: int  # of one direction over all processes


class Reader(Protocol):
    """Cuts a text into the batches of successive steps."""

    def steps(self, epoch: int) -> int:
        """How many batches an epoch has."""
        ...

    def batch(self, epoch: int, step: int, part: int, parts: int) -> TextBatch:
        """The rows of one batch whose number leaves the remainder `part` when divided by `parts`."""
        ...


class TokenTable:
    """Looks up inputs and targets by sentence and place; place 0 is the mark a direction starts from."""

    def __init__(self, text: EncodedText, vocabulary: TargetVocabulary) -> None:
        self.lengths = text.lengths
        self.start_type, self.end_type = len(text.types), len(text.types) + 1
        self._starts, self._tokens = text.starts[:-1], text.tokens
        words = (*text.types, SENTENCE_START, SENTENCE_END)
        self._targets = np.array([vocabulary.number(word) for word in words], dtype=np.int64)

    @property
    def predictions(self) -> int:
        """How many words and sentence marks one direction predicts in an epoch."""
        return int((self.lengths + 1).sum())

    def look_up(self, sentences: Numbers, places: Numbers, direction: int) -> tuple[Numbers, Numbers]:
        """Inputs and targets at the given places; the target at a sentence's length is the other mark."""
        first, last = (self.start_type, self.end_type)[:: 1 if direction == FORWARD else -1]
        inputs = np.where(places == 0, first, self._type(sentences, places - 1, direction))
        at_end = places == self.lengths[sentences]
        targets = np.where(at_end, last, self._type(sentences, places, direction))
        return inputs, self._targets[targets]

    def count_targets(self, number: int) -> int:
        """How many of the tokens, marks aside, have this number as their target."""
        return int((self._targets[self._tokens] == number).sum())

    def _type(self, sentences: Numbers, places: Numbers, direction: int) -> Numbers:
        lengths = self.lengths[sentences]
        inside = np.clip(places, 0, lengths - 1)
        if direction == BACKWARD:
            inside = lengths - 1 - inside
        return np.asarray(self._tokens[self._starts[sentences] + inside], dtype=np.int64)


class SentenceBatches:
    """Whole sentences of similar length, each from a fresh state; about `tokens` predictions a batch.

    No sentence is cut: one that is longer than a batch makes a larger batch.
    """

    def __init__(self, table: TokenTable, tokens: int, seed: int) -> None:
        self._table, self._tokens, self._seed = table, tokens, seed
        self._epoch = -1
        self._plan: list[Numbers] = []

    def steps(self, epoch: int) -> int:
        return len(self._planned(epoch))

    def batch(self, epoch: int, step: int, part: int = 0, parts: int = 1) -> TextBatch:
        sentences = self._planned(epoch)[step]
        total = int((self._table.lengths[sentences] + 1).sum())
        mine = sentences[part::parts]  # still by falling length
        forward, backward = (self._directed(mine, direction) for direction in (FORWARD, BACKWARD))
        return TextBatch(forward, backward, total)

    def _planned(self, epoch: int) -> list[Numbers]:
        if epoch != self._epoch:
            generator = np.random.default_rng([self._seed, epoch])
            order = generator.permutation(len(self._table.lengths))
            self._plan = _cut_into_batches(order, self._table.lengths + 1, self._tokens, generator)
            self._epoch = epoch
        return self._plan

    def _directed(self, sentences: Numbers, direction: int) -> Directed:
        if not len(sentences):  # fewer rows than processes
            return Directed(sentences, sentences, ())
        lengths = self._table.lengths[sentences] + 1  # (rows,), falling
        steps = np.arange(lengths[0])
        is_alive = steps[:, None] < lengths  # (time, rows)
        places, rows = np.nonzero(is_alive)
        inputs, targets = self._table.look_up(sentences[rows], places, direction)
        return Directed(inputs, targets, tuple(is_alive.sum(axis=1).tolist()))


def _cut_into_batches(
    order: Numbers, sizes: Numbers, tokens: int, generator: np.random.Generator
) -> list[Numbers]:
    """Windows of the shuffled order, sorted by falling size, cut by tokens, their batches shuffled."""
    cumulated = np.cumsum(sizes[order])
    window_of = (cumulated - 1) // (tokens * BATCHES_PER_WINDOW)
    batches: list[Numbers] = []
    for window in np.split(order, np.flatnonzero(np.diff(window_of)) + 1):
        by_size = window[np.argsort(-sizes[window], kind="stable")]
        batch_of = (np.cumsum(sizes[by_size]) - 1) // tokens
        cut = np.split(by_size, np.flatnonzero(np.diff(batch_of)) + 1)
        batches.extend(cut[place] for place in generator.permutation(len(cut)))
    return batches


class Line:
    """Sentences one after another, `<S> ... </S>` each; a position is that of a prediction in this line."""

    def __init__(self, table: TokenTable, order: Numbers) -> None:
        self._table, self._order = table, order
        self._ends = np.cumsum(table.lengths[order] + 1)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def look_up(self, positions: Numbers, direction: int) -> tuple[Numbers, Numbers]:
        """Inputs and targets; each sentence is read in the direction's order, and all in the line's."""
        which = np.searchsorted(self._ends, positions, side="right")
        sentences = self._order[which]
        places = positions - (self._ends[which] - self._table.lengths[sentences] - 1)
        return self._table.look_up(sentences, places, direction)


def read_through(table: TokenTable, window: int) -> Iterator[TextBatch]:
    """The whole text in its own order as a single row whose state is to be carried; every token once."""
    line = Line(table, np.arange(len(table.lengths)))
    for start in range(0, len(line), window):
        positions = np.arange(start, min(start + window, len(line)))
        forward, backward = (
            Directed(*line.look_up(positions, direction), (1,) * len(positions))
            for direction in (FORWARD, BACKWARD)
        )
        yield TextBatch(forward, backward, len(positions))


class ContiguousStreams:
    """Rows that read on where they stopped, `window` places per step, as the paper's training did.

    The shuffled sentences follow one another, `<S> ... </S>` each, and are dealt to the rows in equal
    parts; the two directions are shuffled apart, as in bilm-tf. What fills no last window is left out.
    """

    def __init__(self, table: TokenTable, rows: int, window: int, seed: int) -> None:
        self._table, self._rows, self._window, self._seed = table, rows, window, seed
        self._per_row = table.predictions // rows
        self._epoch = -1
        self._lines: list[Line] = []

    def steps(self, epoch: int) -> int:
        return self._per_row // self._window

    def batch(self, epoch: int, step: int, part: int = 0, parts: int = 1) -> TextBatch:
        if epoch != self._epoch:
            self._lines = [self._shuffled([self._seed, epoch, d]) for d in (FORWARD, BACKWARD)]
            self._epoch = epoch
        rows = np.arange(self._rows)[part::parts]
        places = (step * self._window + np.arange(self._window))[:, None] + rows * self._per_row
        forward, backward = (
            self._directed(places.ravel(), direction, len(rows)) for direction in (FORWARD, BACKWARD)
        )
        return TextBatch(forward, backward, self._rows * self._window)

    def _shuffled(self, seed: Sequence[int]) -> Line:
        return Line(self._table, np.random.default_rng(seed).permutation(len(self._table.lengths)))

    def _directed(self, places: Numbers, direction: int, rows: int) -> Directed:
        inputs, targets = self._lines[direction].look_up(places, direction)
        return Directed(inputs, targets, (rows,) * self._window)
