"""How fast sentences become vectors, beside the reference way of doing it and the machine's own limit.

python -m benchmarks.embedding            both published sizes, some minutes
python -m benchmarks.embedding --quick    under a minute

Every round runs every way once, one after the other; figures are medians over the rounds, and ratios are
taken inside a round. Weights are random. On a machine with other work, two threads that wait for each other
tell nothing: use --threads 1, where processor time is counted instead of the clock.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.timing import now, ratio
from elmo_bench.bilm.engine.embedder import MOST_LANES, Embedder
from elmo_bench.bilm.files import load_bilm
from elmo_bench.bilm.identity import Precision
from elmo_bench.bilm.layout import find_model
from elmo_bench.bilm.model import BiLM, LstmStack, ProjectedLstm, TokenEncoder, character_ids, with_marks
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.data.lines import read_lines
from elmo_bench.nn.products import make_product
from elmo_bench.types import Words

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
SIZES = {
    "small": BilmOptions(
        character_dim=16, filters=FILTERS, highways=1, layers=2, cell_dim=1024, projection_dim=128
    ),
    "original": BilmOptions(
        character_dim=16, filters=FILTERS, highways=2, layers=2, cell_dim=4096, projection_dim=512
    ),
}
TEXT = Path("..") / "shared" / "lm_text" / "heldout.txt.gz"
REFERENCE_BATCH = 64  # AllenNLP's `elmo` command
ENGINE_SENTENCES = 1_500  # of one call where memory is measured
WAYS = (
    "reference",
    "reference, word cache, sorted",
    "engine",
    "engine, warm",
    "engine bf16",
    "engine bf16, warm",
)
Way = Callable[[], float]
"""Runs once and gives tokens per second."""


@dataclass(frozen=True)
class Amount:
    """How many tokens each side of a comparison gets; the reference needs fewer for a steady figure."""

    reference: int
    engine: int


AMOUNTS = {"small": Amount(6_000, 100_000), "original": Amount(3_000, 16_000)}
QUICK_AMOUNTS = {"small": Amount(1_500, 20_000), "original": Amount(600, 3_000)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few tokens, two rounds, no memory")
    parser.add_argument("--size", choices=(*SIZES, "both"), default="both")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=None, help="default: 5, quick: 2")
    parser.add_argument("--text", type=Path, default=TEXT, help="tokenised sentences; generated where absent")
    parser.add_argument("--model", type=Path, help="only compare vectors, on a trained model's directory")
    parser.add_argument("--memory-of", choices=("model alone", *WAYS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    amounts = QUICK_AMOUNTS if options.quick else AMOUNTS
    if options.model:
        text = read_text(options.text, QUICK_AMOUNTS["small"].engine)
        print(f"{options.model.name}: {agreement(load_bilm(*find_model(options.model)), text)}")
        return
    for size in SIZES if options.size == "both" else (options.size,):
        text = read_text(options.text, amounts[size].engine)
        if options.memory_of:
            print(peak_memory(size, options.memory_of, text, amounts[size]))
            continue
        rounds = options.rounds or (2 if options.quick else 5)
        report(size, text, amounts[size], rounds, None if options.quick else options)


def read_text(path: Path, tokens: int) -> list[Words]:
    """Sentences of a file, or generated ones with the word frequencies and lengths of newswire."""
    if path.is_file():
        return take((tuple(line.split()) for _, line in read_lines(path)), tokens)
    generator = random.Random(0)
    ranks = np.random.default_rng(0)

    def sentence() -> Words:
        length = max(2, round(generator.lognormvariate(2.95, 0.5)))
        return tuple(f"{'word'[: 1 + rank % 4]}{rank}" for rank in ranks.zipf(1.15, length) % 500_000)

    return take((sentence() for _ in range(tokens)), tokens)


def take(sentences: Iterable[Words], tokens: int) -> list[Words]:
    """As many sentences as hold this many tokens."""
    taken: list[Words] = []
    count = 0
    for words in sentences:
        if count >= tokens:
            break
        taken.append(words)
        count += len(words)
    return taken


def report(
    size: str, text: list[Words], amount: Amount, rounds: int, memory: argparse.Namespace | None
) -> None:
    """Measure one size and print its table."""
    model = build_model(size)
    ways = build_ways(model, text, amount)
    rates: dict[str, list[float]] = {name: [] for name in (*ways, "limit")}
    for _ in range(rounds):
        for name, way in ways.items():
            rates[name].append(way())
        rates["limit"].append(measure_limit(model.options) / work_per_token(model.options))
    print_heading(size, text, rounds, statistics.median(rates["limit"]) * work_per_token(model.options))
    peaks = {name: measure_memory(size, name, memory) for name in ("model alone", *WAYS)} if memory else {}
    reference, cached = WAYS[:2]
    for name in (*ways, "limit"):
        cells = [ratio(rates[name], rates[other]) for other in (reference, cached, "limit")]
        shown = f"{cells[0]:10.1f}x {cells[1]:10.1f}x {cells[2]:9.0%}"
        peak = f"{peaks[name] - peaks['model alone']:9.0f}" if name in peaks else ""
        print(f"{name:32} {statistics.median(rates[name]):11,.0f} {shown} {peak}")
    print(agreement(model, take(text, amount.reference)), end="\n\n")


def print_heading(size: str, text: list[Words], rounds: int, flops: float) -> None:
    """What was measured, and the columns."""
    tokens = sum(map(len, text))
    distinct = len({word for words in text for word in words})
    print(
        f"{size}: {tokens:,} tokens in {len(text):,} sentences, {distinct / tokens:.2f} distinct words per "
        f"token, {torch.get_num_threads()} threads, {rounds} rounds; limit {flops / 1e9:,.0f} GFLOP/s in fp32"
    )
    columns = f"{'x reference':>11} {'x cached':>11} {'of limit':>9} {'+ MB':>9}"
    print(f"{'way':32} {'tokens/s':>11} {columns}")


def build_model(size: str) -> BiLM:
    return BiLM(SIZES[size], torch.Generator().manual_seed(0)).eval()


def build_ways(model: BiLM, text: list[Words], amount: Amount) -> Mapping[str, Way]:
    """Each way as one call that works through its share of the text."""
    few = take(text, amount.reference)
    table = word_vectors(model.token_encoder, few)
    engines: dict[Precision, Embedder] = {}

    def cold(precision: Precision) -> float:
        engines[precision] = Embedder(model, precision)  # with an empty word table; packing is not timed
        return warm(precision)

    def warm(precision: Precision) -> float:
        return timed(text, lambda: engines[precision].layers(text))

    return {
        "reference": lambda: timed(few, lambda: reference_layers(model, few, None)),
        "reference, word cache, sorted": lambda: timed(few, lambda: reference_layers(model, few, table)),
        "engine": lambda: cold("float32"),
        "engine, warm": lambda: warm("float32"),
        "engine bf16": lambda: cold("bfloat16"),
        "engine bf16, warm": lambda: warm("bfloat16"),
    }


def timed(text: Sequence[Words], way: Callable[[], object]) -> float:
    """Tokens per second of one run."""
    start = now()
    way()
    return sum(map(len, text)) / (now() - start)


WordVectors = Mapping[str, Tensor]


@torch.inference_mode()
def word_vectors(encoder: TokenEncoder, text: Sequence[Words]) -> WordVectors:
    """The word cache that AllenNLP builds from `vocab_to_cache`."""
    words = sorted({word for words in text for word in with_marks(words)})
    parts = [
        encoder(torch.from_numpy(character_ids(words[at : at + 256]))) for at in range(0, len(words), 256)
    ]
    return dict(zip(words, torch.cat(parts), strict=True))


@torch.inference_mode()
def reference_layers(model: BiLM, text: Sequence[Words], table: WordVectors | None) -> list[Tensor]:
    """The published implementations' way: batches of 64, every word spelled out where it stands."""
    ordered = sorted(text, key=len) if table is not None else list(text)
    batches = [ordered[at : at + REFERENCE_BATCH] for at in range(0, len(ordered), REFERENCE_BATCH)]
    return [reference_batch(model, batch, table) for batch in batches]


def reference_batch(model: BiLM, batch: Sequence[Words], table: WordVectors | None) -> Tensor:
    """One padded batch (rows, layers, time, dim), its rows by falling length as AllenNLP sorts them."""
    marked = [with_marks(words) for words in sorted(batch, key=len, reverse=True)]
    lengths = [len(words) for words in marked]
    if table is None:
        rows = torch.zeros(len(marked), lengths[0], model.options.maximum_characters, dtype=torch.long)
        for row, words in zip(rows, marked, strict=True):
            row[: len(words)] = torch.from_numpy(character_ids(words))
        tokens = spell_everywhere(model.token_encoder, rows.flatten(0, 1)).view(*rows.shape[:2], -1)
    else:
        vectors = [torch.stack([table[word] for word in words]) for words in marked]
        tokens = nn.utils.rnn.pad_sequence(vectors, batch_first=True)  # (rows, time, dim)
    ahead = reference_stack(model.forward_stack, tokens, lengths, range(lengths[0]))
    back = reference_stack(model.backward_stack, tokens, lengths, range(lengths[0])[::-1])
    layers = [torch.cat([tokens, tokens], 2), *(torch.cat(pair, 2) for pair in zip(ahead, back, strict=True))]
    return torch.stack(layers, dim=1)


def spell_everywhere(encoder: TokenEncoder, rows: Tensor) -> Tensor:
    """The token encoder over all fifty places of every token."""
    embedded = encoder.characters(rows).transpose(1, 2)  # (tokens, character_dim, characters)
    features = torch.cat([F.relu(conv(embedded).amax(2)) for conv in encoder.convolutions], 1)
    for highway in encoder.highways:
        features = highway(features)
    return cast(Tensor, encoder.projection(features))


def reference_stack(stack: LstmStack, inputs: Tensor, lengths: list[int], order: range) -> list[Tensor]:
    """A product for the input and one for the state at every step, over the rows that are still running."""
    outputs = []
    for index, layer in enumerate(cast("list[ProjectedLstm]", list(stack.layers))):
        result = torch.zeros_like(inputs)
        projected, cell = layer.zero_state(len(lengths))
        for step in order:
            running = sum(length > step for length in lengths)  # rows stand by falling length
            gates = F.linear(inputs[:running, step], layer.input_weight, layer.gate_bias)
            gates = gates + F.linear(projected[:running], layer.state_weight)
            projected[:running], cell[:running] = layer.step(gates, cell[:running])
            result[:running, step] = projected[:running]
        outputs.append(result + inputs if stack.use_skip_connections and index > 0 else result)
        inputs = outputs[-1]
    return outputs


def work_per_token(options: BilmOptions) -> float:
    """Operations of the LSTM products, in both directions and all layers; a multiply and an add count two."""
    return 2.0 * options.layers * 2 * options.cell_dim * options.projection_dim * (8 + 1)


@torch.inference_mode()
def measure_limit(options: BilmOptions) -> float:
    """Operations per second of the gate product with packed weights, at the best of some row counts."""
    weight = torch.randn(4 * options.cell_dim, 2 * options.projection_dim) / 32
    product = make_product(weight, None, "none", MOST_LANES)
    best = 0.0
    for rows in (MOST_LANES, 2 * MOST_LANES, 4 * MOST_LANES):
        inputs = torch.randn(rows, weight.shape[1])
        work = 2.0 * rows * weight.numel()
        repeats = max(3, round(4e10 / work))
        product(inputs)
        start = now()
        for _ in range(repeats):
            product(inputs)
        best = max(best, repeats * work / (now() - start))
    return best


def agreement(model: BiLM, text: Sequence[Words]) -> str:
    """How far the engine's vectors are from the reference way's."""
    text = sorted(text[:REFERENCE_BATCH], key=len, reverse=True)
    expected = [
        layers[:, 1 : len(words) + 1].numpy()
        for layers, words in zip(reference_layers(model, text, None)[0], text, strict=True)
    ]
    exact = Embedder(model).layers(text)
    distance = max(float(np.abs(a - b).max()) for a, b in zip(exact, expected, strict=True) if a.size)
    rough = np.concatenate(Embedder(model, "bfloat16").layers(text), axis=1).reshape(
        -1, 2 * model.options.projection_dim
    )
    truth = np.concatenate(expected, axis=1).reshape(rough.shape)
    norms = np.linalg.norm(truth, axis=1)
    cosine = (rough * truth).sum(1) / norms / np.linalg.norm(rough, axis=1)
    error = np.linalg.norm(rough - truth) / np.linalg.norm(truth)
    return (
        f"engine against reference: max abs difference {distance:.1e} in fp32; "
        f"bf16 relative error {error:.2%}, cosine >= {cosine.min():.5f}"
    )


def measure_memory(size: str, way: str, options: argparse.Namespace) -> float:
    """The peak resident memory of a process that does nothing but one way, in MB."""
    command = [sys.executable, "-m", "benchmarks.embedding", "--size", size, "--memory-of", way]
    command += ["--threads", str(options.threads), "--text", str(options.text)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def peak_memory(size: str, way: str, text: list[Words], amount: Amount) -> float:
    """Run one way in this process and give its peak in MB; vectors already made are thrown away."""
    model = build_model(size)
    few = take(text, amount.reference)
    if way == "reference":
        for at in range(0, len(few), REFERENCE_BATCH):
            reference_layers(model, few[at : at + REFERENCE_BATCH], None)
    elif way.startswith("reference"):
        table = word_vectors(model.token_encoder, few)
        for at in range(0, len(few), REFERENCE_BATCH):
            reference_layers(model, few[at : at + REFERENCE_BATCH], table)
    elif way.startswith("engine"):
        encoder = Embedder(model, "bfloat16" if "bf16" in way else "float32")
        for at in range(0, len(text), ENGINE_SENTENCES):
            encoder.layers(text[at : at + ENGINE_SENTENCES])
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024  # getrusage would tell the parent's peak here


if __name__ == "__main__":
    main()
