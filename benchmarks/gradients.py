"""What each hand-written gradient gains over plain PyTorch, in time and memory.

python -m benchmarks.gradients                    both sizes, some minutes
python -m benchmarks.gradients --size open        one of them
python -m benchmarks.gradients --only _Product    some of the gradients

A row compares one class of `torch.autograd.Function` with one plain way to compute the same, forward and
backward, where a model uses it: with the widths, batch sizes and rates of conf/, on random sentences. Both
sides get the same inputs, and the benchmark stops if their values or gradients differ by more than rounding.
Times are medians of interleaved rounds and gains are medians of the ratios inside a round; with one thread,
the default, processor time is counted. Memory is the most that PyTorch's tensors take at a time, results
included. The biLM multiplies in bfloat16 where the processor has it, as its training does.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile

from benchmarks import plain
from benchmarks.embedding import SIZES
from benchmarks.timing import measure, ratio
from benchmarks.training import NEGATIVES, VOCABULARY
from elmo_bench.bilm.model import ProjectedLstm
from elmo_bench.bilm.training.arithmetic import Arithmetic, keep_highest
from elmo_bench.bilm.training.module import has_bfloat16
from elmo_bench.bilm.training.objective import Softmax, draw_negatives, sampled_loss
from elmo_bench.bilm.training.packed_lstm import Direction, run_layers_packed
from elmo_bench.config import RunConfig, read_config
from elmo_bench.encoders.mix import weigh
from elmo_bench.nn.crf import Crf, bioul_constraints
from elmo_bench.nn.dropout import draw_bits, draw_kept, drop_numbers
from elmo_bench.nn.lstm import HighwayLstm, loop_highway_lstm, run_highway_lstm
from elmo_bench.nn.packing import Packing
from elmo_bench.nn.products import multiply_batches, multiply_with_gradient
from elmo_bench.sweep.compose import compose
from elmo_bench.tasks.coref.antecedents import ROWS_AT_ONCE, multiply_scaled
from elmo_bench.tasks.coref.lstm import CoupledLstm, loop_coupled_lstm, run_coupled_lstm
from elmo_bench.tasks.squad.gru import BiGru, loop_gru, run_gru
from elmo_bench.training.memory import keep_freed_memory

BILMS = {"open": "small", "paper": "original"}  # the encoder of each size
OVERRIDES = {"open": ["data=open"], "paper": ["data=open", "size=paper"]}
WORD_DIM = 100  # of the word vectors
SENTENCE = 22  # mean tokens
PARAGRAPH = 120
BILM_LAYERS = 3
BILM_TOKENS = 2560  # of a training step: 128 rows of 20, as published
HIGHEST_WORDS = 300  # distinct words of similar length, a quarter of a training step
WORD_CHARACTERS = 9  # with the marks around the word
COREF_SENTENCES = 50
ROUNDING = {torch.float32: 1e-4, torch.bfloat16: 0.1}  # differences allowed, as shares of the largest value

Way = Callable[[], Tensor]
"""Computes an output from the variables of its case, ready for a backward pass."""


@dataclass(frozen=True)
class Case:
    """One gradient where one model uses it, and the plain ways to compute the same."""

    where: str
    variables: Sequence[Tensor]
    ours: Way
    plain: Mapping[str, Way]
    dtype: torch.dtype = torch.float32  # of the products


@dataclass(frozen=True)
class Size:
    """The settings of a size, and the width of ELMo's layers that its heads read."""

    name: str

    @property
    def elmo_dim(self) -> int:
        return 2 * SIZES[BILMS[self.name]].projection_dim

    def task(self, name: str) -> tuple[dict[str, Any], int]:
        """A head's settings and the batch size."""
        overrides = [f"task={name}", *OVERRIDES[self.name]]
        config = read_config(RunConfig, compose(overrides))
        return config.task.settings["head"], config.task.training.batch_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", choices=(*BILMS, "both"), default="both")
    parser.add_argument("--only", help="comma-separated functions; default: all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    wanted = options.only.split(",") if options.only else list(CASES)
    print("| gradient | where | size | plain PyTorch | time, ms | gain | memory, MB | gain |")
    print("|---|---|---|---|---|---|---|---|")
    for gradient in wanted:
        for size in BILMS if options.size == "both" else (options.size,):
            torch.manual_seed(0)
            case = CASES[gradient](Size(size))
            for row in compare(case, options.rounds):
                print(f"| `{gradient}` | {case.where} | {size} | {row} |", flush=True)


def compare(case: Case, rounds: int) -> list[str]:
    """A row of cells for every plain way: its name, then time and memory of both sides."""
    ways = [partial(differentiate, way, case.variables) for way in (case.ours, *case.plain.values())]
    for name, way in zip(case.plain, ways[1:], strict=True):
        require_agreement(f"{case.where}: {name}", ways[0](), way(), ROUNDING[case.dtype])
    seconds, *others = measure(ways, rounds)
    peak, *peaks = map(peak_memory, ways)
    rows = []
    for name, theirs, memory in zip(case.plain, others, peaks, strict=True):
        times = f"{1000 * median(theirs):,.1f} → {1000 * median(seconds):,.1f}"
        sizes = f"{memory / 1e6:,.0f} → {peak / 1e6:,.0f}"
        rows.append(f"{name} | {times} | {ratio(theirs, seconds):.2f} | {sizes} | {memory / peak:.2f}")
    return rows


def differentiate(way: Way, variables: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Forward and backward, with a gradient of ones: the output and the gradients."""
    output = way()
    return output.detach(), *torch.autograd.grad(output, variables, torch.ones_like(output))


def require_agreement(what: str, ours: Sequence[Tensor], plain: Sequence[Tensor], share: float) -> None:
    """Stop if values or gradients of two ways differ by more than a share of the largest."""
    for mine, theirs in zip(ours, plain, strict=True):
        distance, largest = float((mine - theirs).abs().max()), float(theirs.abs().max())
        if not distance <= share * largest:
            raise SystemExit(f"{what} differs from ours by {distance:.1e} where values reach {largest:.1e}")


def peak_memory(action: Callable[[], object]) -> int:
    """The most bytes of tensors that one call holds at a time."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        action()
    recorded: Any = profiled.profiler
    events = [event for event in recorded.kineto_results.events() if event.name() == "[memory]"]
    changes = sorted((event.start_ns(), event.nbytes()) for event in events)
    return int(max(accumulate(size for _, size in changes)))


def draw_mask(rows: int, mean: float) -> Tensor:
    """Left-aligned rows with lengths spread as those of sentences, (rows, time)."""
    lengths = torch.distributions.Gamma(4.0, 4 / mean).sample((rows,)).round().clamp(2, 4 * mean).long()
    return torch.arange(int(lengths.max())) < lengths.unsqueeze(1)


def parameters_of(layer: nn.Module) -> list[Tensor]:
    return [parameter for parameter in layer.parameters() if parameter.requires_grad]


def product_case(size: Size) -> Case:
    head, rows = size.task("snli")
    tokens = int(draw_mask(2 * rows, SENTENCE).sum())
    x = torch.randn(tokens, 4 * (2 * head["hidden"] + size.elmo_dim), requires_grad=True)
    weight = torch.randn(head["hidden"], x.shape[1], requires_grad=True)
    return Case(
        "SNLI, projection",
        [x, weight],
        lambda: multiply_with_gradient(x, weight),
        {"`F.linear`": lambda: F.linear(x, weight)},
    )


def crf_case(size: Size) -> Case:
    _, rows = size.task("ner")
    labels = ("O", *(f"{prefix}-{kind}" for kind in ("PER", "LOC", "ORG", "MISC") for prefix in "BILU"))
    crf, mask = Crf(bioul_constraints(labels)), draw_mask(rows, SENTENCE)
    emissions = torch.randn(*mask.shape, len(labels), requires_grad=True)
    return Case(
        "NER, CRF",
        [emissions, *parameters_of(crf)],
        lambda: crf.log_partition(emissions, mask),
        {"the forward algorithm in logarithms": lambda: plain.log_partition(crf, emissions, mask)},
    )


def recurrence_case(size: Size) -> Case:
    options, dtype = SIZES[BILMS[size.name]], training_dtype()
    layer = ProjectedLstm(options)
    for weight in layer.parameters():
        nn.init.normal_(weight, std=options.projection_dim**-0.5 / 2)
    counts = Packing.of(draw_mask(BILM_TOKENS // SENTENCE, SENTENCE)).sizes
    inputs = torch.randn(sum(counts), options.projection_dim, requires_grad=True)
    return Case(
        "biLM, a layer",
        [inputs, *parameters_of(layer)],
        lambda: run_layers_packed([Direction(layer, inputs, counts)], Arithmetic(dtype))[0][0],
        {"the loop under autograd": lambda: plain.run_projected_lstm(layer, inputs, counts, dtype)},
        dtype,
    )


def highest_case(size: Size) -> Case:
    filters, dtype = SIZES[BILMS[size.name]].filters, training_dtype()
    banks = [(count, width) for width, count in filters]
    columns = sum(count for count, _ in banks)
    sums = torch.randn(HIGHEST_WORDS, WORD_CHARACTERS, columns).to(dtype).requires_grad_()
    return Case(
        "biLM, character network",
        [sums],
        lambda: keep_highest(sums, banks),
        {"`amax`": lambda: plain.keep_highest(sums, banks)},
        dtype,
    )


def cross_entropy_case(size: Size) -> Case:
    softmax, dtype = Softmax(VOCABULARY, SIZES[BILMS[size.name]].projection_dim), training_dtype()
    outputs = torch.randn(2 * BILM_TOKENS, softmax.weight.shape[1], requires_grad=True)  # both directions
    targets = torch.randint(VOCABULARY, (len(outputs),))
    negatives = draw_negatives(NEGATIVES, VOCABULARY, [0])

    def plainly(in_chunks: bool) -> Tensor:
        return plain.sampled_softmax(softmax, outputs, targets, negatives, dtype, in_chunks)

    return Case(
        "biLM, sampled softmax",
        [outputs, *parameters_of(softmax)],
        lambda: sampled_loss(softmax, outputs, targets, negatives, Arithmetic(dtype))[0],
        {
            "`F.cross_entropy`": lambda: plainly(in_chunks=False),
            "the same in chunks with `checkpoint`": lambda: plainly(in_chunks=True),
        },
        dtype,
    )


def training_dtype() -> torch.dtype:
    return torch.bfloat16 if has_bfloat16() else torch.float32


def scaled_product_case(size: Size) -> Case:
    head, _ = size.task("coref")
    tokens = int(draw_mask(COREF_SENTENCES, SENTENCE).sum())
    lexical = WORD_DIM + len(head["character_widths"]) * head["character_filters"]
    dim = 4 * head["hidden"] + head["feature_dim"] + lexical
    spans = torch.randn(int(head["spans_per_word"] * tokens), dim, requires_grad=True)
    weight = torch.randn(head["scorer_hidden"], dim, requires_grad=True)

    def document(multiply: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Tensor:
        """Every band of pairs of a document, as AntecedentScorer cuts them."""
        bands = []
        for start in range(0, len(spans), ROWS_AT_ONCE):
            columns = spans[max(0, start - head["antecedents"]) : start + ROWS_AT_ONCE]
            bands.append(multiply(spans[start : start + ROWS_AT_ONCE], columns, weight).flatten())
        return torch.cat(bands)

    return Case(
        "coreference, a document",
        [spans, weight],
        lambda: document(multiply_scaled),
        {
            "the product under autograd": lambda: document(plain.multiply_scaled),
            "the same with `checkpoint`": lambda: document(plain.multiply_scaled_again),
        },
    )


def lstm_case(size: Size) -> Case:
    head, rows = size.task("srl")
    layer = HighwayLstm(head["hidden"], head["hidden"], head["dropout"])
    packing = Packing.of(draw_mask(rows, SENTENCE))
    tokens = torch.randn(len(packing.forwards), head["hidden"], requires_grad=True)
    kept = draw_kept((rows, head["hidden"]), head["dropout"], tokens)
    weights = layer.enter, layer.recur, layer.bias, kept
    return Case(
        "SRL, a layer",
        [tokens, *parameters_of(layer)],
        lambda: run_highway_lstm(tokens, packing, *weights),
        {"the loop under autograd": lambda: loop_highway_lstm(tokens, packing, *weights)},
    )


def gru_case(size: Size) -> Case:
    head, rows = size.task("squad")
    layer = BiGru(2 * head["hidden"], head["hidden"])
    packing = Packing.of(draw_mask(rows, PARAGRAPH))
    tokens = torch.randn(len(packing.forwards), layer.inputs, requires_grad=True)
    weights = layer.gru.all_weights[0]
    return Case(
        "SQuAD, a direction",
        [tokens, *weights],
        lambda: run_gru(tokens, packing, *weights),
        {"the loop under autograd": lambda: loop_gru(tokens, packing, *weights)},
    )


def weighted_sum_case(size: Size) -> Case:
    _, rows = size.task("squad")
    mask = draw_mask(rows, PARAGRAPH)
    layers = torch.randn(rows, BILM_LAYERS, mask.shape[1], size.elmo_dim).half() * mask[:, None, :, None]
    weights = torch.randn(BILM_LAYERS, requires_grad=True)
    return Case(
        "SQuAD, mix",
        [weights],
        lambda: weigh(layers, weights),
        {
            "`torch.tensordot`": lambda: plain.weigh_at_once(layers, weights),
            "a loop over layers": lambda: plain.weigh_by_layer(layers, weights),
            "the same with `checkpoint`": lambda: plain.weigh_by_layer(layers, weights, again=True),
        },
    )


def coupled_case(size: Size) -> Case:
    head, _ = size.task("coref")
    layer = CoupledLstm(3 * head["hidden"], head["hidden"], head["dropout"])
    packing = Packing.of(draw_mask(COREF_SENTENCES, SENTENCE))
    tokens = torch.randn(len(packing.forwards), 3 * head["hidden"], requires_grad=True)
    kept = draw_kept((COREF_SENTENCES, head["hidden"]), head["dropout"], tokens)
    weights = layer.enter, layer.recur, layer.bias, layer.first, kept
    return Case(
        "coreference, a direction",
        [tokens, *parameters_of(layer)],
        lambda: run_coupled_lstm(tokens, packing, *weights),
        {"the loop under autograd": lambda: loop_coupled_lstm(tokens, packing, *weights)},
    )


def dropout_case(size: Size) -> Case:
    head, rows = size.task("snli")
    tokens = int(draw_mask(2 * rows, SENTENCE).sum())
    x = torch.randn(tokens, 8 * head["hidden"], requires_grad=True)
    bits = draw_bits(x.shape)
    return Case(
        "SNLI, composition",
        [x],
        lambda: drop_numbers(x, bits, head["dropout"]),
        {"`torch.where` under autograd": lambda: plain.drop_numbers(x, bits, head["dropout"])},
    )


def batched_product_case(size: Size) -> Case:
    head, rows = size.task("squad")
    time = draw_mask(rows, PARAGRAPH).shape[1]
    left = torch.randn(rows, time, 2 * head["hidden"], requires_grad=True)
    right = torch.randn(rows, time, 2 * head["hidden"], requires_grad=True)
    return Case(
        "SQuAD, self-attention",
        [left, right],
        lambda: multiply_batches(left, right.transpose(1, 2)),
        {"`torch.bmm`": lambda: torch.bmm(left, right.transpose(1, 2))},
    )


CASES: Mapping[str, Callable[[Size], Case]] = {
    "_Product": product_case,
    "_BatchedProduct": batched_product_case,
    "_Dropped": dropout_case,
    "_LogPartition": crf_case,
    "CompiledLstm": lstm_case,
    "CompiledGru": gru_case,
    "CompiledCoupledLstm": coupled_case,
    "_ScaledProduct": scaled_product_case,
    "_PackedRecurrence": recurrence_case,
    "_Highest": highest_case,
    "_CrossEntropy": cross_entropy_case,
    "_WeightedSum": weighted_sum_case,
}


if __name__ == "__main__":
    main()
