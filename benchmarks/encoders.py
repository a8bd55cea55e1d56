"""How fast a transformer's layers are taken, beside the usual loop and the limit of the machine.

python -m benchmarks.encoders ../shared/models/minilm_l6            the encoder alone
python -m benchmarks.encoders ../shared/models/minilm_l6 --sweep    also ten NER runs, with and without store

The usual loop is what most scripts do: padded batches of 32 in file order through `AutoModel`, and for every
word the mean of its pieces in every layer. Rounds are interleaved, and ratios are taken inside a round. The
limit is an fp32 product of two square matrices; the work per word is that of the model's products on
sentences without padding. With one thread processor time is counted, which other work disturbs little.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.embedding import TEXT, read_text
from benchmarks.run import measure_limit
from benchmarks.steps import build_steps
from benchmarks.sweep import measure as measure_sweep
from benchmarks.sweep import report as report_sweep
from benchmarks.timing import measure, ratio
from elmo_bench.config import RunConfig, read_config
from elmo_bench.encoders.find import find_encoder
from elmo_bench.encoders.protocol import FoundEncoder, Layers
from elmo_bench.sweep.compose import compose
from elmo_bench.training.memory import keep_freed_memory
from elmo_bench.types import Words

BATCH = 32
COUNTED = 40  # sentences whose products are counted
SWEEP_SENTENCES = 640
AIM = 2.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path, help="a directory of transformers")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=6_000)
    parser.add_argument("--text", type=Path, default=TEXT, help="tokenised sentences; generated where absent")
    parser.add_argument("--sweep", action="store_true", help="also ten NER runs, from the store and without")
    parser.add_argument("--batches", type=int, default=8, help="of the sweep: how many are timed")
    parser.add_argument("--data", default="open", help="of the sweep: open or sample")
    parser.add_argument("--words", default="glove", help="of the sweep: word vectors, glove or random")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    usual = UsualLoop(options.model)
    report(options, usual, read_text(options.text, options.tokens))
    if options.sweep:
        found = find(options.model, "float32")
        words = ["task=ner", "size=paper", f"data={options.data}", f"words={options.words}"]
        steps = build_steps(words, found.card.layer_count, found.card.dim, limit=SWEEP_SENTENCES)
        costs = measure_sweep(found.card, found.load(), usual.layers, steps, options.batches)
        report_sweep(options.model.name, steps, costs, options)


def find(directory: Path, precision: str) -> FoundEncoder:
    """The encoder as a run finds it."""
    words = [
        "task=ner",
        "encoder=transformer",
        f"encoder.model={directory}",
        f"encoder.precision={precision}",
    ]
    config = read_config(RunConfig, compose(words))
    return find_encoder(config.encoder, config.paths, config.trainer, log=lambda _: None)


class UsualLoop:
    """Padded batches in file order."""

    def __init__(self, directory: Path) -> None:
        from transformers import AutoModel, AutoTokenizer

        self._tokenizer: Any = AutoTokenizer.from_pretrained(directory)
        self._model: Any = AutoModel.from_pretrained(directory, dtype=torch.float32).eval()

    @torch.inference_mode()
    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        """The layers of every word, (layers, words, dim)."""
        found: list[Layers] = []
        for start in range(0, len(sentences), BATCH):
            batch = [list(words) for words in sentences[start : start + BATCH]]
            pieces = self._tokenizer(
                batch, is_split_into_words=True, padding=True, truncation=True, return_tensors="pt"
            )
            states = self._model(**pieces, output_hidden_states=True).hidden_states
            stacked = torch.stack(states, dim=1)  # (rows, layers, pieces, dim)
            for row, words in enumerate(batch):
                found.append(pool(stacked[row], pieces.word_ids(row), len(words)))
        return found

    @torch.inference_mode()
    def count_operations(self, sentences: Sequence[Words]) -> float:
        """Floating-point operations per word, without padding."""
        counter = FlopCounterMode(display=False)
        with counter:
            for words in sentences:
                self.layers([words])
        return counter.get_total_flops() / sum(map(len, sentences))


def pool(states: torch.Tensor, word_ids: Sequence[int | None], count: int) -> Layers:
    """The mean of the pieces of every word."""
    places = [place for place, word in enumerate(word_ids) if word is not None]
    words = torch.tensor([word for word in word_ids if word is not None])
    summed = torch.zeros(len(states), count, states.shape[2]).index_add_(1, words, states[:, places])
    pieces = torch.bincount(words, minlength=count).clamp(min=1)
    return np.asarray(summed / pieces[:, None])


def report(options: argparse.Namespace, usual: UsualLoop, text: list[Words]) -> None:
    """Words per second of each way, and the largest difference between their numbers."""
    tokens = sum(map(len, text))
    exact, half = (find(options.model, precision).load() for precision in ("float32", "bfloat16"))
    ways = {
        "usual loop": lambda: usual.layers(text),
        "ours": lambda: exact.layers(text),
        "ours, bf16": lambda: half.layers(text),
    }
    seconds = dict(zip(ways, measure(list(ways.values()), options.rounds), strict=True))
    flops = measure_limit() * 1e9
    limit = flops / usual.count_operations(text[:COUNTED])
    print(
        f"{options.model.name}: {tokens:,} words in {len(text):,} sentences, {options.threads} threads, "
        f"{options.rounds} rounds; limit {flops / 1e9:,.0f} GFLOP/s in fp32"
    )
    for name, taken in seconds.items():
        rate = tokens / statistics.median(taken)
        times = ratio(seconds["usual loop"], taken)
        print(
            f"  {name:12} {rate:9,.0f} words/s {times:6.1f}x the usual loop {rate / limit:6.0%} of the limit"
        )
    reference = usual.layers(text[:COUNTED])
    for name, encoder in {"ours": exact, "ours, bf16": half}.items():
        pairs = zip(encoder.layers(text[:COUNTED]), reference, strict=True)
        print(f"  {name}: largest difference {max(float(np.abs(a - b).max()) for a, b in pairs):.1e}")
    print(f"  aim: {AIM}x in fp32", flush=True)


if __name__ == "__main__":
    main()
