"""`python -m elmo_bench embed`: the layers of every token of a file of sentences."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elmo_bench.cli.overrides import take_overrides
from elmo_bench.data.lines import read_lines
from elmo_bench.directories import own_directories
from elmo_bench.files import describe_os_error, name_file
from elmo_bench.output import progress_bar
from elmo_bench.types import (
    BenchError,
    BusyError,
    DataError,
    DataMissingError,
    InterruptedRunError,
    UsageError,
    Words,
)

if TYPE_CHECKING:
    from elmo_bench.cli.vector_files import VectorFile
    from elmo_bench.encoders.protocol import FoundEncoder

HELP = """write the layers of every token of a file with one tokenised sentence per line

The encoder is --model DIR, or encoder=NAME with its settings as for `python run.py`. The output holds one
float32 array (layers, tokens, dim) per line under the line's index, from 0: HDF5 in the layout of the
reference implementation, or safetensors. Run the same command again to resume a job that was stopped.

--workers N shares the work among N processes of this machine. --shard K/N is for jobs on several machines: it
writes the K-th of N parts of about equally many tokens to a file named after OUT (vectors.03-of-16.hdf5), in
which an array still has the line's index in the whole file; --join N makes OUT of all parts, each compared
with the hashes beside it. OUT has the same bytes in all these ways."""
EXAMPLE = """python -m elmo_bench embed sentences.txt vectors.hdf5 --model results/models/small
  python -m elmo_bench embed sentences.txt vectors.hdf5 encoder=small encoder.precision=bfloat16 --workers 4
  python -m elmo_bench embed sentences.txt vectors.hdf5 encoder=small encoder.layers=[0,2] --shard 3/16
  python -m elmo_bench embed sentences.txt vectors.hdf5 encoder=small --join 16"""

TOKENS_AT_ONCE, LEAST_AT_ONCE = 1 << 15, 1 << 13  # of a block: the most, and the least unless lines end
BLOCKS = 64  # of a file between these limits, so that workers and parts share it evenly
SAFETENSORS_HEADER = 100_000_000  # bytes; readers refuse more
HEADER_PER_LINE = 70


Written = Generator[range, None, None]
"""Blocks as soon as they are written."""


@dataclass(frozen=True)
class Part:
    """One of several parts of a file of sentences, from 1."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> Part:
        """3/16"""
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise argparse.ArgumentTypeError(f"expected K/N with K from 1 to N, such as 3/16, got {text!r}")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def path(self, whole: Path) -> Path:
        """vectors.03-of-16.hdf5 for vectors.hdf5"""
        number = str(self.number).zfill(len(str(self.count)))
        return whole.with_name(f"{whole.stem}.{number}-of-{self.count}{whole.suffix}")


@dataclass(frozen=True)
class Job:
    """The sentences of a file, the blocks that they are encoded in, and the encoder."""

    sentences: Path
    vectors: Path
    lengths: Sequence[int]  # tokens by line
    found: FoundEncoder

    def blocks(self, part: Part | None = None) -> list[range]:
        """The lines that are encoded together; they do not depend on the number of workers or parts."""
        blocks, starts = cut_blocks(self.lengths)
        if part is None:
            return blocks
        first, last = (
            bisect_left(starts, -(-starts[-1] * number // part.count))  # rounded up
            for number in (part.number - 1, part.number)
        )
        return blocks[first : min(last, len(blocks))]

    def file(self, part: Part | None = None) -> VectorFile:
        """The file of vectors of all sentences, or of one part."""
        from elmo_bench.cli.vector_files import Layout, VectorFile
        from elmo_bench.hashing import hash_file_once, hash_value

        card, blocks = self.found.card, self.blocks(part)
        lines = range(blocks[0].start, blocks[-1].stop) if blocks else range(0)
        identity = hash_value(
            [hash_file_once(self.sentences), card.fingerprint, *([str(part)] if part else [])]
        )
        lengths = self.lengths[lines.start : lines.stop]
        layout = Layout(lengths, card.layer_count, card.dim, identity, lines.start)
        return VectorFile(part.path(self.vectors), layout, True) if part else VectorFile(self.vectors, layout)


def configure(parser: argparse.ArgumentParser) -> None:
    """Input file, output file and encoder."""
    take_overrides(parser)
    parser.add_argument(
        "sentences", type=Path, metavar="IN", help="one sentence per line, tokens separated by blanks"
    )
    parser.add_argument(
        "vectors", type=Path, metavar="OUT", help="file that ends in .hdf5, .h5 or .safetensors"
    )
    parser.add_argument(
        "--model",
        type=Path,
        help="a directory with options.json and weights, the weight file, or a transformers directory",
    )
    parser.add_argument(
        "--precision", choices=("float32", "bfloat16"), help="precision of the encoder (default: float32)"
    )
    parser.add_argument("--device", help="device to compute on (default: cpu)")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="number of processes (default: %(default)s)"
    )
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument("--shard", type=Part.read, metavar="K/N", help="write only the K-th of N parts")
    parts.add_argument("--join", type=int, metavar="N", help="make OUT of its N parts; nothing is encoded")


def run(arguments: argparse.Namespace) -> None:
    """Embed the sentences that the output file still lacks."""
    for name in ("workers", "join"):
        if (value := getattr(arguments, name)) is not None and value < 1:
            raise UsageError(f"--{name} {value}: expected a positive number")
    overrides = choose_overrides(arguments)
    lengths = read_lengths(arguments.sentences)
    from elmo_bench.cli.vector_files import VectorFile
    from elmo_bench.loading import find_chosen

    VectorFile.check_name(arguments.vectors)
    job = Job(arguments.sentences, arguments.vectors, lengths, find_chosen(overrides))
    file = job.file(arguments.shard)
    if not file.path.parent.is_dir():
        raise UsageError(f"{file.path.parent}: no such directory to write to")
    try:
        with file.locked():
            if file.is_complete():
                file.tidy()
                print(f"already done: {file.path}")
                return
            fill(job, file, arguments, overrides)
    except BusyError:
        raise
    except KeyboardInterrupt as error:
        raise InterruptedRunError(f"{file.path}: stopped; run the same command again to resume") from error
    except OSError as error:
        raise BenchError(describe_os_error(name_file(error, file.path))) from error
    layout = file.layout
    counts = f"{len(layout.lengths)} sentences, {sum(layout.lengths)} tokens, {layout.layers} layers"
    print(f"wrote {counts}: {file.path}")


def choose_overrides(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The overrides that choose the encoder."""
    from elmo_bench.loading import choose_model, spell_settings

    names = [word for word in arguments.overrides if word.startswith("encoder=")]
    if (arguments.model is None) == (not names):
        raise UsageError("choose the encoder: either --model DIR or encoder=NAME, such as encoder=small")
    model = [] if arguments.model is None else choose_model(arguments.model)
    options = {"precision": arguments.precision, "device": arguments.device}
    chosen = spell_settings({key: value for key, value in options.items() if value is not None})
    return (*model, *arguments.overrides, *chosen)


def read_lengths(path: Path) -> list[int]:
    """The number of tokens of every line; lines without tokens are noted once."""
    lengths = [len(words) for words in read_sentences(path)]
    if not lengths:
        raise DataError(f"{path}:1: expected at least one sentence, got an empty file")
    if empty := [line for line, length in enumerate(lengths, start=1) if not length]:
        what = "1 line has" if len(empty) == 1 else f"{len(empty)} lines have"
        print(
            f"{path}:{empty[0]}: note: {what} no tokens; an array of no tokens is written for each",
            file=sys.stderr,
        )
    return lengths


def read_sentences(path: Path) -> Iterator[Words]:
    """The tokens of every line; a line without any is a sentence without words."""
    for _, line in read_lines(path):
        yield tuple(line.split())


def cut_blocks(lengths: Sequence[int]) -> tuple[list[range], list[int]]:
    """Blocks of lines, some thousands of tokens each; and the tokens before each and the end."""
    size = min(TOKENS_AT_ONCE, max(LEAST_AT_ONCE, (sum(lengths) + len(lengths)) // BLOCKS))
    blocks, starts = [], [0]
    first, tokens = 0, 0
    for line, length in enumerate(lengths):
        tokens += length + 1
        if tokens - starts[-1] >= size:
            blocks.append(range(first, line + 1))
            starts.append(tokens)
            first = line + 1
    if first < len(lengths):
        blocks.append(range(first, len(lengths)))
        starts.append(tokens)
    return blocks, starts


def fill(job: Job, file: VectorFile, arguments: argparse.Namespace, overrides: tuple[str, ...]) -> None:
    """Write the blocks that are missing, and note each."""
    lengths, first = file.layout.lengths, file.layout.first
    blocks = [shift(block, -first) for block in job.blocks(arguments.shard)]
    missing = file.missing(blocks)
    check_room(file, missing)
    if arguments.join:
        written = join_parts(job, file, arguments.join, missing)
    else:
        sentences = read_blocks(job.sentences, missing, first)
        workers = min(arguments.workers, len(missing))
        if 0 < workers < arguments.workers:
            print(f"note: {len(missing)} blocks are left, for as many processes", file=sys.stderr)
        written = embed(job.found, file, sentences, workers, overrides)
    file.lay_out()
    total, left = sum(lengths), sum(sum(lengths[block.start : block.stop]) for block in missing)
    with (
        progress_bar(total, "tokens", initial=total - left) as bar,
        closing(written),
    ):
        for block in written:
            file.note(block)
            bar.update(sum(lengths[block.start : block.stop]))
    file.finish()


def embed(
    found: FoundEncoder,
    file: VectorFile,
    sentences: Iterator[tuple[range, list[Words]]],
    workers: int,
    overrides: tuple[str, ...],
) -> Written:
    """Encode and write blocks, in this process or in several."""
    if workers < 1:  # nothing is missing
        return
    if workers == 1:
        from elmo_bench.encoders.finite import encode_finite

        encoder = found.load()
        for block, here in sentences:
            file.write(block, encode_finite(found.card.name, encoder, here))
            yield block
        return
    import torch

    from elmo_bench.cli.embed_workers import Work, embed_with_workers

    threads = max(1, torch.get_num_threads() // workers)
    work = Work(overrides, own_directories(), threads)
    yield from embed_with_workers(work, file, sentences, workers)


def join_parts(job: Job, file: VectorFile, count: int, missing: list[range]) -> Written:
    """Copy blocks from the files of all parts."""
    parts = [Part(number, count) for number in range(1, count + 1)]
    absent = [part for part in parts if not job.file(part).is_complete()]
    if absent:
        raise DataMissingError(
            f"{absent[0].path(job.vectors)}: no such file; {len(absent)} of {count} parts are missing. For "
            f"it give the same command with --shard {absent[0]} instead of --join"
        )
    return _copy(job, file, parts, set(missing))


def _copy(job: Job, file: VectorFile, parts: list[Part], missing: set[range]) -> Written:
    for part in parts:
        source = job.file(part)
        wanted = [block for block in job.blocks(part) if block in missing]
        own = [shift(block, -source.layout.first) for block in wanted]
        for block, arrays in zip(wanted, source.read(own), strict=True):
            file.write(block, arrays)
            yield block


def read_blocks(path: Path, blocks: Sequence[range], first: int) -> Iterator[tuple[range, list[Words]]]:
    """Blocks with their sentences; the numbers of their lines are counted from a line of the file."""
    sentences = enumerate(read_sentences(path), start=-first)
    for block in blocks:
        yield block, [words for line, words in take_until(sentences, block.stop) if line >= block.start]


def take_until(sentences: Iterator[tuple[int, Words]], stop: int) -> Iterator[tuple[int, Words]]:
    """The sentences before a line; the iterator then stands at that line."""
    for line, words in sentences:
        yield line, words
        if line + 1 == stop:
            return


def shift(block: range, by: int) -> range:
    """The same lines, counted from another one."""
    return range(block.start + by, block.stop + by)


def check_room(file: VectorFile, missing: Sequence[range]) -> None:
    """Refuse what no reader opens, and what the disk cannot hold."""
    from elmo_bench.encoders.shards import in_units

    layout = file.layout
    if file.path.suffix == ".safetensors" and HEADER_PER_LINE * len(layout.lengths) > SAFETENSORS_HEADER:
        raise UsageError(
            f"{file.path}: too many sentences for one safetensors file; write .hdf5, or parts: --shard 1/4"
        )
    free = shutil.disk_usage(file.path.parent).free
    needed = layout.byte_count(line for block in missing for line in block)
    if needed > free:
        raise UsageError(
            f"{file.path}: needs {in_units(needed)} more, {in_units(free)} are free; write parts to several "
            "disks: --shard 1/4"
        )
