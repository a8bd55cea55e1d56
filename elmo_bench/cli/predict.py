"""`python -m elmo_bench predict`: a finished run's head on a new file."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmo_bench.cli.overrides import read_paths, take_overrides
from elmo_bench.files import is_plain_file, write_atomically
from elmo_bench.types import UsageError, log_to_stderr

if TYPE_CHECKING:
    from elmo_bench.runs.restoration import Restored

HELP = """apply a finished run to a file in the format of its task

Writes one line of JSON per example, in the format of the run's predictions-test.jsonl. The run's test file
gives the same predictions as in the run. The files that the run was trained with must exist unchanged."""
EXAMPLE = (
    "python -m elmo_bench predict results/runs/ner/0123abcd4567-s1 new.conll --output tagged.jsonl\n"
    "  python -m elmo_bench predict results/runs/ner/0123abcd4567-s1 sentences.txt --text --conventional"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The run, the input and the output format; paths.cache=DIR and so on where it was run with them."""
    take_overrides(parser)
    parser.add_argument("run", type=Path, metavar="RUN", help="the directory of a finished run")
    parser.add_argument(
        "files", type=Path, nargs="+", metavar="FILE", help="several if a split of the task has several"
    )
    parser.add_argument(
        "--format", metavar="NAME", help="format of the files (default: that of the run's data)"
    )
    parser.add_argument(
        "--text", action="store_true", help="FILE has one sentence per line, its tokens separated by blanks"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="OUT",
        help="output file, replacing none of other content (default: standard output)",
    )
    parser.add_argument("--words", action="store_true", help="write the sentences next to the predictions")
    parser.add_argument(
        "--conventional", action="store_true", help="write the file that the task's scorer reads instead"
    )


def run(arguments: argparse.Namespace) -> None:
    """Predict, write the predictions, and print their score if the file has gold labels."""
    from elmo_bench.runs.restoration import predict_file, read_file, restore
    from elmo_bench.task import Rendering

    restored = restore(arguments.run, read_paths(arguments), log_to_stderr)
    task = restored.prepared.task
    if arguments.conventional and not isinstance(task, Rendering):
        raise UsageError(f"task {restored.record.task}: only JSON lines are supported")
    with tempfile.TemporaryDirectory() as folder:
        files = as_text(arguments, restored, Path(folder)) if arguments.text else arguments.files
        examples = read_file(restored, files, arguments.format)
        predictions = predict_file(restored, files, examples, log_to_stderr)
    if arguments.conventional and isinstance(task, Rendering):
        content = task.render(examples, predictions)
    else:
        lines = as_lines(restored, examples, predictions, arguments.words)
        content = "".join(f"{line}\n" for line in lines)
    if arguments.output:
        write_new(arguments.output, content.encode())
    else:
        sys.stdout.write(content)
    against = "" if arguments.text else worth(restored, examples, predictions)
    log_to_stderr(f"{len(examples):,} examples{against}")


def write_new(output: Path, content: bytes) -> None:
    """Replace nothing, not even an input that was named by mistake; a repeated command finds its own file."""
    if not os.path.lexists(output):
        write_atomically(output, content)
    elif not is_plain_file(output) or output.read_bytes() != content:
        raise UsageError(
            f"--output {output}: expected a new file, got one that exists already, with other content; "
            "choose another name or remove it"
        )


def as_text(arguments: argparse.Namespace, restored: Restored, folder: Path) -> list[Path]:
    """Plain sentences in the format that the task reads."""
    from elmo_bench.data.plain import label_blindly

    labelled = []
    for number, path in enumerate(arguments.files):
        labelled.append(folder / f"{number}-{path.name}")
        format_name = arguments.format or restored.prepared.corpus.config.format
        if empty := label_blindly(path, format_name, labelled[-1]):
            what = "1 line has" if empty == 1 else f"{empty:,} lines have"
            log_to_stderr(f"{path}: note: {what} no tokens, and no prediction")
    return labelled


def as_lines(
    restored: Restored, examples: Sequence[Any], predictions: Sequence[Any], with_words: bool
) -> Iterator[str]:
    """One object of JSON per example."""
    for example, prediction in zip(examples, predictions, strict=True):
        row = {"id": example.id, "prediction": prediction}
        if with_words:
            row |= {"sentences": restored.prepared.task.sentences(example)}
        yield json.dumps(row, ensure_ascii=False)


def worth(restored: Restored, examples: Sequence[Any], predictions: Sequence[Any]) -> str:
    """The score against the labels of the file."""
    from elmo_bench.task import score_by_metric

    task = restored.prepared.task
    counts = [task.count(example, found) for example, found in zip(examples, predictions, strict=True)]
    return f", {task.metric} {score_by_metric(task, counts):.2f} against the labels of the file"
