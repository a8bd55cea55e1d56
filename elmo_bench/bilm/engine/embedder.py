"""The fast encoder: from sentences to the layers of a frozen biLM."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from elmo_bench.bilm.engine.lstm import InferenceStack
from elmo_bench.bilm.engine.sentence_layout import Chunk, Side, plan_chunks
from elmo_bench.bilm.engine.stateful import StatefulEmbedder
from elmo_bench.bilm.engine.token_vectors import InferenceTokenEncoder, WordCache
from elmo_bench.bilm.files import export_arrays, load_bilm
from elmo_bench.bilm.identity import Precision, StateProtocol, fingerprint_arrays
from elmo_bench.bilm.layout import find_model
from elmo_bench.bilm.model import BiLM
from elmo_bench.nn.workers import two_workers
from elmo_bench.tensors import check_device
from elmo_bench.types import UsageError, Words

Floats = NDArray[np.float32]

MOST_LANES = 128
MOST_WORD_BYTES = 1 << 29
CHUNK_FLOATS = 1 << 22  # state of one layer in one direction


def load_embedder(
    path: Path, state: StateProtocol = "reset", precision: Precision = "float32", device: str = "cpu"
) -> Embedder | StatefulEmbedder:
    """The encoder of a model directory or weight file; see `Embedder` for the two state protocols."""
    model = load_bilm(*find_model(path)).to(check_device(device, "device"))
    if state == "reset":
        return Embedder(model, precision)
    if precision != "float32":
        raise UsageError(f"encoder.precision={precision}: carried state needs float32")
    return StatefulEmbedder(model, fingerprint_model(model, state, precision))


def fingerprint_model(model: BiLM, state: StateProtocol, precision: Precision) -> str:
    """The fingerprint of a loaded model, equal to that of its weight file."""
    return fingerprint_arrays(model.options, export_arrays(model), state, precision)


class Embedder:
    """A frozen biLM as an encoder: every sentence from a zero state, its layers without the sentence marks.

    A sentence's vectors depend only on the sentence. The published implementations carry state from
    batch to batch instead; `StatefulEmbedder` does that.
    """

    def __init__(self, model: BiLM, precision: Precision = "float32") -> None:
        options = model.options
        self.layer_count = options.layers + 1
        self.dim = 2 * options.projection_dim
        self.fingerprint = fingerprint_model(model, "reset", precision)
        dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16}[precision]
        encoder = InferenceTokenEncoder(model.token_encoder, options.maximum_characters, dtype)
        self._words = WordCache(encoder, options.projection_dim, MOST_WORD_BYTES)
        self._most_tokens = max(MOST_LANES, CHUNK_FLOATS // options.projection_dim)
        self._stacks = (
            InferenceStack(model.forward_stack, MOST_LANES, dtype),
            InferenceStack(model.backward_stack, MOST_LANES, dtype),
        )

    def layers(self, sentences: Sequence[Words]) -> list[Floats]:
        """The layers (layers, time, dim) of each sentence, in the order of the sentences."""
        results = [np.empty((self.layer_count, len(words), self.dim), np.float32) for words in sentences]
        chunks = plan_chunks([len(words) for words in sentences], MOST_LANES, self._most_tokens)
        with two_workers(self._words.vectors.device) as executor:
            for chunk in chunks:
                self._embed(chunk, sentences, results, executor)
        return results

    def _embed(
        self, chunk: Chunk, sentences: Sequence[Words], results: list[Floats], executor: Executor | None
    ) -> None:
        here = [sentences[slot.sentence] for slot in chunk.slots]
        self._words.add((word for words in here for word in words), executor)
        rows = [self._words.rows(words) for words in here]
        run = map if executor is None else executor.map
        list(run(lambda side: self._run_side(side, rows, results), (Side(chunk, False), Side(chunk, True))))

    @torch.inference_mode()
    def _run_side(self, side: Side, rows: Sequence[Sequence[int]], results: list[Floats]) -> None:
        """Run one direction and write its half of every vector."""
        vectors, dim = self._words.vectors, self.dim // 2
        mark = WordCache.END_ROW if side.is_backward else WordCache.START_ROW
        tokens = vectors[torch.from_numpy(side.lay_out(rows, mark)).to(vectors.device)]  # (steps, lanes, dim)
        resets = {
            step: torch.tensor(lanes, device=vectors.device) for step, lanes in side.beginnings().items()
        }
        stack = self._stacks[side.is_backward]
        layers = torch.cat([tokens.unsqueeze(0), stack.run(tokens, side.order(), resets)]).cpu().numpy()
        half = slice(dim, 2 * dim) if side.is_backward else slice(0, dim)
        for slot in side.chunk.slots:
            first = side.first_word(slot)
            results[slot.sentence][:, :, half] = layers[:, first : first + slot.length, slot.lane]
