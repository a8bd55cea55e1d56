"""`python -m elmo_bench embed`: the layers of every token of a file of sentences."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from elmo_bench.data.lines import read_lines
from elmo_bench.types import BenchError, DataError, InterruptedRunError, UsageError, Words

if TYPE_CHECKING:
    from elmo_bench.cli.vector_files import VectorFile
    from elmo_bench.encoders.protocol import Encoder

HELP = """write the layers of every token of a file with one tokenised sentence per line

The output holds one float32 array (layers, tokens, dim) per line under the line's index, from 0: HDF5 in the
layout of the reference implementation, or safetensors. Run the same command again to resume a job that was
stopped."""
EXAMPLE = "python -m elmo_bench embed sentences.txt vectors.hdf5 --model results/models/small"

TOKENS_AT_ONCE = 1 << 15
SAFETENSORS_HEADER = 100_000_000  # bytes; readers refuse more
HEADER_PER_LINE = 70


def configure(parser: argparse.ArgumentParser) -> None:
    """Input file, output file and model."""
    parser.add_argument(
        "sentences", type=Path, metavar="IN", help="one sentence per line, tokens separated by blanks"
    )
    parser.add_argument(
        "vectors", type=Path, metavar="OUT", help="file that ends in .hdf5, .h5 or .safetensors"
    )
    parser.add_argument(
        "--model",
        type=Path,
        required=True,
        help="a directory with options.json and weights, or the weight file",
    )
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32", help="%(default)s")
    parser.add_argument("--device", default="cpu", help="device to compute on (default: %(default)s)")


def run(arguments: argparse.Namespace) -> None:
    """Embed the sentences that the output file still lacks."""
    lengths = [len(words) for words in _read_sentences(arguments.sentences)]
    if not lengths:
        raise DataError(f"{arguments.sentences}:1: expected at least one sentence, got an empty file")
    from elmo_bench.bilm.engine.embedder import load_embedder
    from elmo_bench.cli.vector_files import Layout, VectorFile
    from elmo_bench.hashing import hash_file, hash_value

    encoder = load_embedder(arguments.model, precision=arguments.precision, device=arguments.device)
    identity = hash_value([hash_file(arguments.sentences), encoder.fingerprint])
    file = VectorFile(arguments.vectors, Layout(lengths, encoder.layer_count, encoder.dim, identity))
    if file.is_complete():
        print(f"already done: {file.path}")
        return
    _check_room(file)
    try:
        _fill(file, encoder, arguments.sentences)
    except KeyboardInterrupt as error:
        raise InterruptedRunError(f"{file.path}: stopped; run the same command again to resume") from error
    except OSError as error:
        raise BenchError(f"{file.path}: {error}; run the same command again to resume") from error
    print(f"wrote {len(lengths)} sentences, {sum(lengths)} tokens, {encoder.layer_count} layers: {file.path}")


def _read_sentences(path: Path) -> Iterator[Words]:
    for _, line in read_lines(path):
        yield tuple(line.split())


def _check_room(file: VectorFile) -> None:
    layout = file.layout
    if file.path.suffix == ".safetensors" and HEADER_PER_LINE * len(layout.lengths) > SAFETENSORS_HEADER:
        raise UsageError(
            f"{file.path}: too many sentences for one safetensors file; write .hdf5 or split the input"
        )
    folder = file.path.parent
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such directory to write to")
    free = shutil.disk_usage(folder).free
    needed = layout.byte_count(file.lines_done())
    if needed > free:
        raise UsageError(
            f"{file.path}: needs {needed / 1e9:.1f} GB more, {free / 1e9:.1f} GB are free; split the input"
        )


def _fill(file: VectorFile, encoder: Encoder, path: Path) -> None:
    from tqdm import tqdm

    lengths = file.layout.lengths
    done = file.lines_done()
    blocks = (encoder.layers(block) for block in _blocks(path, done))
    with tqdm(total=sum(lengths), initial=sum(lengths[:done]), unit=" tokens", unit_scale=True) as bar:
        for line in file.fill(blocks):
            bar.update(sum(lengths[done:line]))
            done = line


def _blocks(path: Path, first: int) -> Iterator[list[Words]]:
    """Blocks of sentences from a line onwards, some tens of thousands of tokens each."""
    block: list[Words] = []
    tokens = 0
    for line, words in enumerate(_read_sentences(path)):
        if line < first:
            continue
        block.append(words)
        tokens += len(words) + 1
        if tokens >= TOKENS_AT_ONCE:
            yield block
            block, tokens = [], 0
    if block:
        yield block
