"""A loaded transformer: batches of similar length, one pass for all layers, the vectors of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from elmo_bench.encoders.protocol import EncoderCard, Layers
from elmo_bench.encoders.transformer.packages import quiet
from elmo_bench.encoders.transformer.pieces import Pieces, WordPieces
from elmo_bench.encoders.transformer.windows import plan_windows, shorten
from elmo_bench.types import BenchError, DataError, UsageError, Words

if TYPE_CHECKING:  # the settings, which import this module only to load a model
    from elmo_bench.encoders.transformer.plugin import Pooling

Ids = NDArray[np.int64]

BATCH_PIECES = 4096
LEAST_FULL = 0.9  # the shortest text of a batch against the longest
LEAST_WINDOW = 8  # pieces of text


@dataclass(frozen=True)
class Reading:
    """One text or window as the model reads it, and the words whose vectors are taken from it."""

    text: int
    words: slice  # of the text
    ids: Ids  # with the special pieces
    starts: Ids  # the first piece of each of these words
    ends: Ids


class LoadedTransformer:
    """All layers of every word; vectors do not depend on the batch, except in their last bits."""

    def __init__(
        self, card: EncoderCard, model: Any, pieces: WordPieces, pooling: Pooling, most_pieces: int
    ) -> None:
        self.fingerprint, self.layer_count, self.dim = card.fingerprint, card.layer_count, card.dim
        self._model = model
        self._pieces = pieces
        self._pooling = pooling
        self._rows = int(model.get_input_embeddings().num_embeddings)
        self._device = next(model.parameters()).device
        self._window = _window(self._model, most_pieces) - len(pieces.before) - len(pieces.after)
        if self._window < LEAST_WINDOW:
            raise UsageError(
                f"encoder.window={most_pieces}: {card.name} can read {self._window} pieces of text at once, "
                f"expected at least {LEAST_WINDOW}"
            )
        self._looks_back_only = self._check_layers(card.name)

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        """The layers (layers, words, dim) of each sentence, in the order of the sentences."""
        texts = list(dict.fromkeys(map(tuple, sentences)))
        vectors = [np.empty((self.layer_count, len(words), self.dim), np.float32) for words in texts]
        for batch in _batches(
            [reading for text, words in enumerate(texts) for reading in self._read(text, words)]
        ):
            self._encode(batch, vectors)
        found = dict(zip(texts, vectors, strict=True))
        first = set[Words]()
        answers = []
        for words in map(tuple, sentences):  # every sentence has an array of its own
            answers.append(found[words].copy() if words in first else found[words])
            first.add(words)
        return answers

    def _read(self, text: int, words: Words) -> Iterator[Reading]:
        """A text in one piece, or in windows if it is longer than the model's."""
        if not words:
            return
        pieces = self._pieces.of(words)
        counts = np.array([len(word) for word in pieces])
        if counts.sum() > self._window:
            pieces = [shorten(word, self._window // 2) for word in pieces]
            counts = np.array([len(word) for word in pieces])
        for window in plan_windows(counts, self._window, self._looks_back_only):
            ids = self._with_special(pieces[window.read])
            ends = len(self._pieces.before) + np.cumsum(counts[window.read])
            chosen = slice(window.taken.start - window.read.start, window.taken.stop - window.read.start)
            yield Reading(text, window.taken, ids, (ends - counts[window.read])[chosen], ends[chosen])

    def _with_special(self, pieces: Sequence[Pieces]) -> Ids:
        ids = np.array([*self._pieces.before, *chain.from_iterable(pieces), *self._pieces.after])
        if ids.max() >= self._rows:
            raise DataError(
                f"the tokeniser gives piece {ids.max()}, but the model has {self._rows} pieces: "
                "tokenizer.json and the weights are of different models (encoder.model)"
            )
        return ids

    @torch.inference_mode()
    def _encode(self, batch: Sequence[Reading], vectors: Sequence[Layers]) -> None:
        """Read one batch and write the vectors of its words."""
        longest = max(len(reading.ids) for reading in batch)
        ids = np.zeros((len(batch), longest), np.int64)  # the piece at the padding is masked, whatever it is
        mask = np.zeros((len(batch), longest), np.int64)
        for row, reading in enumerate(batch):
            ids[row, : len(reading.ids)] = reading.ids
            mask[row, : len(reading.ids)] = 1
        states = self._hidden_states(ids, mask)
        starts = np.concatenate([row * longest + reading.starts for row, reading in enumerate(batch)])
        ends = np.concatenate([row * longest + reading.ends for row, reading in enumerate(batch)])
        pooled = self._pool(states, starts, ends)
        first = 0
        for reading in batch:
            last = first + len(reading.starts)
            vectors[reading.text][:, reading.words] = pooled[:, first:last]
            first = last

    def _hidden_states(self, ids: Ids, mask: Ids) -> tuple[Tensor, ...]:
        """One (rows, time, dim) tensor per layer."""
        inputs = [torch.from_numpy(values).to(self._device) for values in (ids, mask)]
        output = self._model(
            input_ids=inputs[0], attention_mask=inputs[1], output_hidden_states=True, return_dict=True
        )
        states: tuple[Tensor, ...] = output.hidden_states
        return states

    def _pool(self, states: Sequence[Tensor], starts: Ids, ends: Ids) -> Layers:
        """(layers, words, dim) from the pieces of each word, which stand next to each other."""
        words = len(starts)
        pooled = torch.empty((self.layer_count, words, self.dim), device=self._device)
        if self._pooling == "mean":
            counts = ends - starts
            bags = np.cumsum(counts) - counts
            rows = np.arange(counts.sum()) + np.repeat(starts - bags, counts)
        else:
            bags = np.arange(words)
            rows = starts if self._pooling == "first" else ends - 1
        rows, bags = (torch.from_numpy(indices).to(self._device) for indices in (rows, bags))
        for layer, state in zip(pooled, states, strict=True):
            layer.copy_(F.embedding_bag(rows, state.reshape(-1, self.dim).float(), bags, mode="mean"))
        answer: Layers = pooled.cpu().numpy()
        return answer

    @torch.inference_mode()
    def _check_layers(self, name: str) -> bool:
        """Whether a piece sees only those before it; an error if the layers are not those of the card."""
        first, *others = self._pieces.some_ids(below=self._rows)
        try:
            with quiet():
                answers = [
                    self._hidden_states(np.array([[first, other]]), np.ones((1, 2), np.int64))
                    for other in others
                ]
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # a key of config.json may ask for anything
            raise DataError(
                f"{name}: the model of its config.json cannot read two pieces "
                f"({type(error).__name__}: {' '.join(str(error).split())[:200]})"
            ) from error
        shapes = {tuple(state.shape) for state in answers[0]}
        if len(answers[0]) != self.layer_count or shapes != {(1, 2, self.dim)}:
            raise BenchError(
                f"{name}: expected {self.layer_count} layers of {self.dim} for two pieces, got "
                f"{len(answers[0])} of the shapes {sorted(shapes)}; this architecture is not supported"
            )
        return all(torch.equal(one[0, 0], other[0, 0]) for one, other in zip(*answers, strict=True))


def _batches(readings: list[Reading]) -> Iterator[list[Reading]]:
    """Texts of similar length together, so that little is padding."""
    batch: list[Reading] = []
    for reading in sorted(readings, key=lambda reading: len(reading.ids), reverse=True):
        longest = len(batch[0].ids) if batch else 0
        if batch and ((len(batch) + 1) * longest > BATCH_PIECES or len(reading.ids) < LEAST_FULL * longest):
            yield batch
            batch = []
        batch.append(reading)
    if batch:
        yield batch


def _window(model: Any, most_pieces: int) -> int:
    """The number of pieces, special ones included, that a model reads at once."""
    positions = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(positions, int) or positions <= 0:
        return most_pieces  # positions are relative
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            positions -= module.padding_idx + 1  # RoBERTa and its kin count from behind the padding
    return min(most_pieces, positions)
