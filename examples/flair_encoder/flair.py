"""Contextual string embeddings (Akbik et al. 2018): two language models that read characters.

    text      = the words, joined by one blank
    forward   = the state of the forward model after the last character of a word
    backward  = the state of the backward model after the first character of a word, from the end of the text
    h0        = [forward; backward], the only layer

Both models start from a zero state and read a line feed first.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np
import torch
from pydantic.dataclasses import dataclass
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from elmo_bench.encoders.protocol import EncoderCard, EncoderContext, EncoderPlugin, FoundEncoder, Layers
from elmo_bench.hashing import hash_files
from elmo_bench.nn.products import make_product
from elmo_bench.tensors import check_device
from elmo_bench.types import DataError, DataMissingError, Words

CONFIG, CHARACTERS, WEIGHTS = "config.json", "chars.json", "model.safetensors"
ROWS = 128  # texts that are read at once
DIRECTIONS = ("forward", "backward")
ARRAYS = ("encoder.weight", "rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_ih_l0", "rnn.bias_hh_l0")

Positions = list[int]
"""For each word, the character after which its state is taken."""


@dataclass(frozen=True)
class Flair(EncoderPlugin):
    """`encoder=flair encoder.directory=DIR`: config.json, chars.json and model.safetensors."""

    directory: Path

    def find(self, context: EncoderContext) -> FoundEncoder:
        files = [self.directory / name for name in (CONFIG, CHARACTERS, WEIGHTS)]
        for path in files:
            if not path.is_file():
                raise DataMissingError(
                    f"{path}: no such file (encoder.directory); examples/flair_encoder/README.md describes it"
                )
        config = json.loads(files[0].read_text(encoding="utf-8"))
        if config.get("model_type") != "flair_char_lm" or config.get("num_layers") != 1:
            raise DataError(f"{files[0]}:1: expected a flair_char_lm of one layer, got {config}")
        card = EncoderCard(
            name=context.name,
            fingerprint=self.make_fingerprint("flair 1", hash_files(files), without={"directory"}),
            layer_count=1,
            dim=2 * config["hidden_size"],
            parameters=count_parameters(files[2]),
        )

        def load() -> FlairEncoder:
            device = check_device(context.device, "encoder.device")
            ids = {
                character: index for index, character in enumerate(json.loads(files[1].read_text("utf-8")))
            }
            arrays = read_arrays(files[2], device)
            return FlairEncoder(card, ids, config["unk_id"], config["start_marker"], arrays)

        return FoundEncoder(card, load)


def count_parameters(path: Path) -> int:
    """The numbers of both models that vectors depend on; only the head of the file is read."""
    try:
        with safe_open(path, framework="pt") as file:
            return sum(
                prod(file.get_slice(f"{direction}.{name}").get_shape())
                for direction in DIRECTIONS
                for name in ARRAYS
            )
    except SafetensorError as error:
        raise DataError(
            f"{path}: expected the arrays of two character language models, got {error}"
        ) from error


def read_arrays(path: Path, device: torch.device) -> dict[str, dict[str, Tensor]]:
    """The arrays of both models in float32, without the softmax."""
    try:
        found = load_file(path, device=str(device))
        return {
            direction: {name: found[f"{direction}.{name}"].float() for name in ARRAYS}
            for direction in DIRECTIONS
        }
    except (SafetensorError, KeyError) as error:
        raise DataError(
            f"{path}: expected the arrays of two character language models, got {error}"
        ) from error


class FlairEncoder:
    """Reads texts of similar length together, longest first, so that none is padded."""

    def __init__(
        self,
        card: EncoderCard,
        ids: Mapping[str, int],
        unknown: int,
        start: str,
        arrays: Mapping[str, Mapping[str, Tensor]],
    ) -> None:
        self.fingerprint, self.layer_count, self.dim = card.fingerprint, card.layer_count, card.dim
        self._ids = ids
        self._unknown = unknown
        self._start = start
        self._readers = [Reader(arrays[direction]) for direction in DIRECTIONS]

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        """One (1, words, dim) array per sentence."""
        results = [np.empty((1, len(words), self.dim), np.float32) for words in sentences]
        half = self.dim // 2
        for direction, reader in enumerate(self._readers):
            columns = slice(direction * half, (direction + 1) * half)
            texts = [place_words(words, bool(direction), self._start) for words in sentences]
            order = sorted(
                (index for index, words in enumerate(sentences) if words),
                key=lambda i: (-len(texts[i][0]), i),
            )
            for first in range(0, len(order), ROWS):
                batch = order[first : first + ROWS]
                ids = [self.number(texts[index][0]) for index in batch]
                states = reader.read(ids, [texts[index][1] for index in batch])
                for index, vectors in zip(batch, states, strict=True):
                    results[index][0, :, columns] = vectors.cpu().numpy()
        return results

    def number(self, text: str) -> list[int]:
        """The ids of the characters."""
        return [self._ids.get(character, self._unknown) for character in text]


def place_words(words: Words, is_backward: bool, start: str) -> tuple[str, Positions]:
    """What a model reads, and after which character each word's state is taken."""
    text = " ".join(words)
    firsts = [0]
    for word in words[:-1]:
        firsts.append(firsts[-1] + len(word) + 1)
    if is_backward:
        return start + text[::-1], [len(start) + len(text) - 1 - first for first in firsts]
    lasts = [first + len(word) - 1 for first, word in zip(firsts, words, strict=True)] if words else []
    return start + text, [len(start) + last for last in lasts]


class Reader:
    """The LSTM of one direction.

    What a character adds to the gates is a row of a table. One product with the state is left for each step;
    its weight is packed once, which makes it about twice as fast as `nn.LSTM`.
    """

    def __init__(self, arrays: Mapping[str, Tensor]) -> None:
        bias = arrays["rnn.bias_ih_l0"] + arrays["rnn.bias_hh_l0"]
        entered = arrays["encoder.weight"] @ arrays["rnn.weight_ih_l0"].T
        self._table = entered + bias  # (characters, 4 * hidden)
        self._product = make_product(arrays["rnn.weight_hh_l0"], None, "none", ROWS)
        self._hidden = arrays["rnn.weight_hh_l0"].shape[1]

    @torch.inference_mode()
    def read(self, texts: Sequence[Sequence[int]], positions: Sequence[Positions]) -> list[Tensor]:
        """The states (words, hidden) of every text at its positions; the texts are sorted, longest first."""
        lengths = [len(text) for text in texts]
        padded = torch.zeros(lengths[0], len(texts), dtype=torch.long)
        for row, text in enumerate(texts):
            padded[: len(text), row] = torch.tensor(text)
        wanted = group_by_step(positions)
        found = self._table.new_empty(sum(map(len, positions)), self._hidden)
        state = cell = self._table.new_zeros(len(texts), self._hidden)
        rows = len(texts)
        for step, characters in enumerate(padded.to(self._table.device)):
            while lengths[rows - 1] <= step:
                rows -= 1
            gates = self._product(state[:rows]).add_(self._table[characters[:rows]])
            input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=1)
            entering = torch.sigmoid(input_gate) * torch.tanh(candidate)
            cell = torch.sigmoid(forget_gate) * cell[:rows] + entering
            state = torch.sigmoid(output_gate) * torch.tanh(cell)
            if step in wanted:
                words, sources = wanted[step]
                found[words] = state[sources]
        return list(torch.split(found, [len(own) for own in positions]))


def group_by_step(positions: Sequence[Positions]) -> dict[int, tuple[list[int], list[int]]]:
    """For each step, the words whose states are taken, numbered through all texts, and their texts."""
    wanted: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    places = ((row, step) for row, own in enumerate(positions) for step in own)
    for word, (row, step) in enumerate(places):
        wanted[step][0].append(word)
        wanted[step][1].append(row)
    return dict(wanted)
