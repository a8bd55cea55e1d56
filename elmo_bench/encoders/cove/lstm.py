"""CoVe (McCann et al. 2017): the two LSTM layers of a machine translation encoder over GloVe.

    x  = the word's vector; zeros if the file lacks the word
    h0 = [forward 1; backward 1] over x
    h1 = [forward 2; backward 2] over h0

Every sentence starts from a zero state, without sentence marks. The paper's CoVe vector is [x; h1]. Here x is
no layer, because every head has word vectors already.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence, unpack_sequence

from elmo_bench.data.mapped_vectors import MappedVectors
from elmo_bench.encoders.protocol import EncoderCard, Layers
from elmo_bench.types import DataError, Words

LAYERS = 2
SENTENCES_AT_ONCE = 64
TOKENS_AT_ONCE = 16_384
ARRAYS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
DIRECTIONS = ("", "_reverse")
PREFIX = re.compile(r"^rnn\.")  # in checkpoints of a module that holds the LSTM; the published file has none


class CoveEncoder:
    """Runs sentences of similar length together; packed sequences have no padding."""

    def __init__(
        self, card: EncoderCard, layers: Sequence[nn.LSTM], vectors: MappedVectors, lower_case: bool
    ) -> None:
        self.fingerprint, self.layer_count, self.dim = card.fingerprint, card.layer_count, card.dim
        self._layers = layers
        self._vectors = vectors
        self._lower_case = lower_case
        self._device = next(layers[0].parameters()).device

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        """The layers (layers, time, dim) of each sentence, in the order of the sentences."""
        results = [np.zeros((self.layer_count, len(words), self.dim), np.float32) for words in sentences]
        for batch in cut_batches([len(words) for words in sentences]):
            for index, layers in zip(
                batch, self._encode([sentences[number] for number in batch]), strict=True
            ):
                results[index] = layers
        return results

    @torch.inference_mode()
    def _encode(self, sentences: Sequence[Words]) -> list[Layers]:
        """The layers of sentences that are sorted by length, longest first."""
        states: PackedSequence = pack_sequence([self._look_up(words) for words in sentences])
        outputs: list[list[Tensor]] = []
        for layer in self._layers:
            states, _ = layer(states)
            outputs.append(unpack_sequence(states))
        return [torch.stack(layers).cpu().numpy() for layers in zip(*outputs, strict=True)]

    def _look_up(self, words: Words) -> Tensor:
        chosen = tuple(word.lower() for word in words) if self._lower_case else words
        return torch.from_numpy(self._vectors.look_up(chosen)).to(self._device)  # (time, dim)


def cut_batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices of sentences to encode together, longest first; empty sentences are left out."""
    order = sorted((index for index, length in enumerate(lengths) if length), key=lambda i: (-lengths[i], i))
    while order:
        count = min(SENTENCES_AT_ONCE, max(1, TOKENS_AT_ONCE // lengths[order[0]]))
        yield order[:count]
        order = order[count:]


def read_layers(path: Path) -> list[nn.LSTM]:
    """The LSTM layers of a published checkpoint, on the CPU."""
    arrays = {PREFIX.sub("", name): array for name, array in read_checkpoint(path).items()}
    expected = {f"{array}_l{n}{end}" for array in ARRAYS for n in range(LAYERS) for end in DIRECTIONS}
    if arrays.keys() != expected:
        differing = ", ".join(sorted(arrays.keys() ^ expected))
        raise DataError(
            f"{path}: expected the arrays of an LSTM of {LAYERS} layers in two directions; they differ in "
            f"{differing}"
        )
    hidden, inputs = arrays["weight_hh_l0"].shape[-1], arrays["weight_ih_l0"].shape[-1]
    return [_make_layer(path, arrays, n, inputs if n == 0 else 2 * hidden, hidden) for n in range(LAYERS)]


def _make_layer(path: Path, arrays: Mapping[str, Tensor], number: int, inputs: int, hidden: int) -> nn.LSTM:
    layer = nn.LSTM(inputs, hidden, bidirectional=True)
    for name, parameter in layer.named_parameters():  # weight_ih_l0, ..., bias_hh_l0_reverse
        published = name.replace("_l0", f"_l{number}")
        array = arrays[published]
        if array.shape != parameter.shape or not torch.isfinite(array).all():
            raise DataError(
                f"{path}: expected {published} to be {tuple(parameter.shape)} finite numbers, got "
                f"{tuple(array.shape)}"
            )
        parameter.requires_grad_(False).copy_(array)
    return layer.eval()


def read_checkpoint(path: Path) -> dict[str, Tensor]:
    """The tensors of a PyTorch file of any age. Only tensors are built: no code of the file is executed."""
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about unusual pickles, which are refused below
        try:
            content: Any = torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # the reader fails in many ways on a file that is not such a file
            raise DataError(
                f"{path}: expected a PyTorch file with tensors alone, got {_first_line(error)}. A file with "
                "anything else could execute code and is not opened; fetch it again from its publisher"
            ) from error
    if not isinstance(content, Mapping) or not all(isinstance(one, Tensor) for one in content.values()):
        raise DataError(f"{path}: expected tensors by name, got {type(content).__name__}")
    return {str(name): tensor for name, tensor in content.items()}


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
