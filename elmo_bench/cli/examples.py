"""`python -m elmo_bench examples`: where one run is right and another is wrong, in text."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from elmo_bench.cli.overrides import read_paths, take_overrides
from elmo_bench.conditions import describe_condition, name_encoders
from elmo_bench.report.comparison import Run
from elmo_bench.report.examples import Case, find_cases
from elmo_bench.report.pairs import gather, pair_up
from elmo_bench.types import UsageError, log_to_stderr

HELP = """print the examples in which run A is right and run B is wrong

A and B are run directories or published records of runs on the same data, as for `compare`; of several seeds
the first that both have is taken. An answer is what the task asks: an entity, a role, a label, the nearest
earlier mention. Predictions are read, nothing is computed."""
EXAMPLE = (
    "python -m elmo_bench examples results/runs/ner/0123abcd4567-s1 results/runs/ner/89ab0123cdef-s1\n"
    "  python -m elmo_bench examples results/runs/snli/0123abcd4567 results/runs/snli/89ab0123cdef "
    "--reverse --count 3"
)
SHOWN = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """The two runs and what to print of them; paths.data=DIR and so on if the data have moved."""
    take_overrides(parser)
    parser.add_argument("first", type=Path, metavar="A")
    parser.add_argument("second", type=Path, metavar="B")
    parser.add_argument("--split", choices=("test", "dev"), default="test", help="default: %(default)s")
    parser.add_argument(
        "--count",
        type=int,
        default=SHOWN,
        metavar="N",
        help="number of examples; 0 means all (default: %(default)s)",
    )
    parser.add_argument(
        "--reverse", action="store_true", help="print those in which B is right and A is wrong instead"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON per example")


def run(arguments: argparse.Namespace) -> None:
    """Print the cases, and how many there are each way."""
    from elmo_bench.runs.answers import read_answers, require_predictions

    if arguments.count < 0:
        raise UsageError(f"--count {arguments.count}: expected 0 (all) or more")
    split = arguments.split
    first, second = pair_up(gather(arguments.first), gather(arguments.second), split)[0]
    paths = read_paths(arguments)
    files = [require_predictions(one, split, paths.runs) for one in (first, second)]
    answers = [
        read_answers(one, file, split, paths, log_to_stderr).examples
        for one, file in zip((first, second), files, strict=True)
    ]
    only_first, only_second = find_cases(answers[0], answers[1]), find_cases(answers[1], answers[0])
    cases = only_second if arguments.reverse else only_first
    shown = cases[: arguments.count or None]
    if arguments.json:
        for case in shown:
            print(json.dumps(asdict(case), ensure_ascii=False))
        return
    names = ("B", "A") if arguments.reverse else ("A", "B")
    lines = [
        *describe_runs(first, second, split),
        f"A right where B is wrong in {len(only_first)} examples, "
        f"B right where A is wrong in {len(only_second)}",
        *(line for case in shown for line in describe_case(case, names)),
    ]
    print("\n".join(lines))
    if len(shown) < len(cases):
        print(f"\n{len(cases) - len(shown)} more: --count 0 prints all")


def describe_runs(first: Run, second: Run, split: str) -> Iterator[str]:
    """What is compared."""
    names = name_encoders([first.record, second.record])
    record = first.record
    yield f"{record.task} on {record.corpus} ({record.source}), {record.examples[split]} {split} examples"
    for side, one in (("A", first), ("B", second)):
        yield f"{side}  {one.record.condition}  seed {one.seed}  {describe_condition(one.record, names)}"


def describe_case(case: Case, names: Sequence[str]) -> Iterator[str]:
    """The text of an example and what is answered in it; the first of the names is right."""
    right, wrong = names
    yield ""
    yield case.id
    yield from (f"  {line}" for line in case.text)
    for one in case.differences:
        yield f"    {one.asked}: gold and {right} {one.gold}, {wrong} {one.wrong}"
