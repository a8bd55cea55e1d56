"""Tokens per second of the tagging heads at the paper's size, and the share of each part of a training step.

python -m benchmarks.heads --threads 2 --steps 10
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks.timing import medians, seconds_of
from elmo_bench.catalog import read_task
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.data.word_table import WordTable
from elmo_bench.nn.lstm import BiLstm
from elmo_bench.nn.packing import run_library
from elmo_bench.tasks.ner import NerHead, NerHeadSettings
from elmo_bench.tasks.pos import PosHead
from elmo_bench.tasks.srl import SrlHead, SrlHeadSettings
from elmo_bench.tasks.wsd import MeanHead, WsdHeadSettings
from elmo_bench.tensors import Batch, Head, Injected, Stream, Widths
from elmo_bench.training.memory import keep_freed_memory

DIM = 1024  # of the original biLM
WORD_DIM = 100
CHARACTERS = 90
SRL_EPOCH = 253_000  # predicates in the training set of CoNLL-2012


@dataclass(frozen=True)
class Case:
    """One head with the batch it is timed on."""

    name: str
    head: nn.Module
    injected: Mapping[str, Injected]
    batch: Batch

    @property
    def tokens(self) -> int:
        return int(self.injected["text"].mask.sum())

    def step(self) -> None:
        """Forward and backward, as far as the mixed representations."""
        self.head.zero_grad()
        torch.autograd.backward([self.head(self.injected, self.batch).loss])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10, help="of each kind; medians are printed")
    parser.add_argument("--words", type=int, default=20_000, help="rows of the trainable word table")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    torch.manual_seed(0)
    ner, srl, pos = ner_case(options.words), srl_case(options.words), pos_case()
    for case in (ner, srl, pos):
        report_training(case, options.steps)
    report_one_pass(options.steps)
    packed, library = medians(
        [partial(run_recurrence, ner, packed) for packed in (True, False)], options.steps
    )
    print(f"two BiLSTMs: {library / packed:.1f} times as fast as torch's own ({1000 * packed:.1f} ms)")
    seconds = sum(seconds_of(srl.step) for _ in range(50))
    hours = seconds / 50 * SRL_EPOCH / len(srl.batch) / 3600
    print(f"srl: 50 steps of {len(srl.batch)} in {seconds:.0f} s, the paper's epoch in {hours:.1f} h")


def vocabularies(words: int, tags: Vocabulary) -> Vocabularies:
    table = WordTable(tuple(map(str, range(words))), torch.randn(words + 2, WORD_DIM), trainable=True)
    characters = Vocabulary.open(chr(33 + number) for number in range(CHARACTERS))
    return Vocabularies(table, {"tags": tags, "characters": characters})


def make_inputs(rows: int, tags: int, words: int) -> tuple[dict[str, Injected], Batch]:
    """Random sentences of about 22 words and words of about 5 characters."""
    lengths = torch.distributions.Gamma(4.0, 4 / 22).sample((rows,)).round().clamp(2, 80).long()
    mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)  # (rows, time)
    at_input = torch.randn(*mask.shape, DIM, requires_grad=True)
    numbers = (
        (torch.distributions.Exponential(1.0).sample(mask.shape) * words / 20).long().clamp(max=words - 1)
    )
    spelling = torch.randint(2, CHARACTERS, (words, 16))
    spelling *= torch.arange(16) < torch.randint(1, 10, (words, 1))
    fields = {
        "words": (numbers + 2) * mask,
        "characters": spelling[numbers] * mask.unsqueeze(2),
        "predicate": (torch.arange(mask.shape[1]) == 1).expand_as(mask).long(),
        "tags": torch.randint(tags, mask.shape) * mask,
    }
    stream = Stream(torch.zeros(rows, 0, mask.shape[1], 0), mask, (1,) * rows)
    batch = Batch(tuple(map(str, range(rows))), {"text": stream}, fields)
    return {"text": Injected(at_input, torch.zeros(*mask.shape, 0), mask)}, batch


def ner_case(words: int) -> Case:
    kinds = ("PER", "LOC", "ORG", "MISC")
    tags = Vocabulary.closed(["O", *(f"{prefix}-{kind}" for kind in kinds for prefix in "BILU")])
    head = NerHead(
        NerHeadSettings(**read_task("ner").settings["head"]), vocabularies(words, tags), Widths(DIM, 0)
    )
    return Case("ner", head, *make_inputs(64, len(tags), words))


def srl_case(words: int) -> Case:
    tags = Vocabulary.closed(["O", *(f"{prefix}-{number}" for number in range(60) for prefix in "BI")])
    head = SrlHead(
        SrlHeadSettings(**read_task("srl").settings["head"]), vocabularies(words, tags), Widths(DIM, 0)
    )
    return Case("srl", head, *make_inputs(80, len(tags), words))


def pos_case() -> Case:
    tags = Vocabulary.closed(map(str, range(49)))
    table = WordTable((), torch.zeros(2, 0), trainable=False)
    head = PosHead(Vocabularies(table, {"tags": tags}), Widths(DIM, 0))
    injected, batch = make_inputs(64, len(tags), 1000)
    return Case(
        "pos",
        head,
        injected,
        Batch(batch.ids, batch.streams, {**batch.fields, "words": batch.fields["words"] * 0}),
    )


def report_training(case: Case, steps: int) -> None:
    """Speed of steps and of decoding, then what each part of the head takes on its own."""
    optimiser = torch.optim.Adam(case.head.parameters(), lr=0.0)
    case.step()
    parts: dict[str, Callable[[], object]] = {}
    for name, part in case.head.named_children():
        if run := part_alone(case, part):
            parts[name] = run
    parts["optimiser"] = optimiser.step
    step, *alone = medians([case.step, *parts.values()], steps)
    whole = step + alone[-1]
    print(
        f"{case.name}: {case.tokens / whole:,.0f} tokens/s in training ({1000 * whole:.0f} ms per step), ",
        end="",
    )
    case.head.eval()
    (decoding,) = medians([lambda: decode(case)], steps)
    case.head.train()
    print(f"{case.tokens / decoding:,.0f} tokens/s in decoding")
    for name, seconds in [*zip(parts, alone, strict=True), ("the rest", whole - sum(alone))]:
        print(f"    {name:12} {100 * seconds / whole:5.1f} %")


def report_one_pass(steps: int) -> None:
    """Speed of averaging senses and of finding the nearest."""
    senses = 30_000
    injected, batch = make_inputs(64, 2, 1000)
    lengths = batch.streams["text"].mask.sum(1).tolist()
    targets = max(lengths) // 3
    starts = torch.arange(targets).expand(len(batch), targets) * 3  # every third word is a target
    real = starts < torch.tensor(lengths).unsqueeze(1)
    fields = {
        "spans": torch.stack([starts, starts + 1], dim=2) * real.unsqueeze(2),
        "gold": torch.randint(1, senses, (len(batch), targets, 1)) * real.unsqueeze(2),
        "candidates": torch.randint(1, senses, (len(batch), targets, 8)) * real.unsqueeze(2),
    }
    head = MeanHead(WsdHeadSettings(**read_task("wsd").settings["head"]), senses, Widths(DIM, 0))
    case = Case("wsd", head, injected, Batch(batch.ids, batch.streams, fields))
    with torch.no_grad():
        observing, decoding = medians(
            [lambda: head.observe(injected, case.batch), lambda: decode(case)], steps
        )
    print(f"wsd: {case.tokens / observing:,.0f} tokens/s in its one pass, ", end="")
    print(f"{case.tokens / decoding:,.0f} tokens/s in decoding")


@torch.no_grad()
def decode(case: Case) -> None:
    head: Head = case.head  # type: ignore[assignment]
    head.decode(head(case.injected, case.batch), case.batch)


def part_alone(case: Case, part: nn.Module) -> Callable[[], None] | None:
    """Forward and backward of one part on what the head gives it; None for parts without a gradient."""
    calls: list[tuple[nn.Module, tuple[object, ...]]] = []
    modules = list(part) if isinstance(part, nn.ModuleList) else [part]
    hooks = [
        module.register_forward_pre_hook(lambda module, given: calls.append((module, given)))
        for module in modules
    ]
    case.head(case.injected, case.batch)
    for hook in hooks:
        hook.remove()
    inputs = [(module, tuple(map(detach, given))) for module, given in calls]

    def run() -> None:
        for module, given in inputs:
            pull(module(*given))

    return run if inputs and inputs[0][0](*inputs[0][1]).requires_grad else None


def pull(output: Tensor) -> None:
    """Backward with a gradient of ones."""
    torch.autograd.backward([output], [torch.ones_like(output)])


def detach(value: object) -> object:
    if isinstance(value, Tensor) and value.is_floating_point():
        return value.detach().requires_grad_()
    return value


def run_recurrence(case: Case, packed: bool) -> None:
    """Both recurrent layers of the NER head, one way or the other."""
    head, mask = case.head, case.injected["text"].mask
    for layer in (head.lower, head.upper):
        assert isinstance(layer, BiLstm)
        x = torch.ones(*mask.shape, layer.inputs, requires_grad=True)
        pull(layer(x, mask) if packed else run_library(layer.lstm, x, mask))


if __name__ == "__main__":
    main()
