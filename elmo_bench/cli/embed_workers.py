"""Processes that share the blocks of a file of vectors: each encodes a block and writes it at its place.

The parent hands out sentences and hears which block is written; no vector passes between processes. A block
has the same sentences whoever encodes it, so the bytes are those that one process writes. The parent also
hands out the open file: a worker that outlives it never writes to the file of another job of the same name.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from typing import BinaryIO

from elmo_bench.cli.vector_files import VectorFile, write_values
from elmo_bench.directories import add_directory
from elmo_bench.encoders.finite import encode_finite
from elmo_bench.types import BenchError, Words

PROCESSES: SpawnContext | ForkServerContext = multiprocessing.get_context("spawn")
"""A fork of a process with threads may hang; tests fork from a process without any."""

Sentences = Iterator[tuple[range, list[Words]]]
"""Blocks with their sentences."""


@dataclass(frozen=True)
class Work:
    """What a process needs to know."""

    encoder: tuple[str, ...]  # the overrides that choose it
    directories: tuple[Path, ...]  # of the user
    threads: int  # of PyTorch, per process


def embed_with_workers(
    work: Work, file: VectorFile, blocks: Sentences, count: int
) -> Generator[range, None, None]:
    """Yield every block as soon as it is written."""
    with file.open_unfinished() as opened, _start_workers(work, opened, count) as workers:
        idle = list(workers)
        busy: list[Connection] = []
        while True:
            while idle and (following := next(blocks, None)) is not None:
                block, sentences = following
                busy.append(idle.pop())
                _send(busy[-1], (block, file.places(block), sentences), workers)
            if not busy:
                return
            for connection in wait(busy):
                assert isinstance(connection, Connection)
                yield _receive(connection, workers)
                busy.remove(connection)
                idle.append(connection)


@contextmanager
def _start_workers(work: Work, opened: BinaryIO, count: int) -> Iterator[dict[Connection, BaseProcess]]:
    """Processes by their connections; none is left when the block ends, however it ends."""
    workers: dict[Connection, BaseProcess] = {}
    try:
        for _ in range(count):
            ours, theirs = PROCESSES.Pipe()
            process: BaseProcess = PROCESSES.Process(target=_serve, args=(theirs, work), daemon=True)
            with _deaf_to_interrupts():
                process.start()
            theirs.close()
            workers[ours] = process
            assert process.pid is not None
            send_handle(ours, opened.fileno(), process.pid)
        yield workers
    finally:
        for process in workers.values():
            process.terminate()
        for process in workers.values():
            process.join()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ctrl-C reaches all processes of a terminal; those started here leave it to their parent."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # only the main thread can
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _send(connection: Connection, block: object, workers: dict[Connection, BaseProcess]) -> None:
    try:
        connection.send(block)
    except OSError:
        raise _lost(workers[connection]) from None


def _receive(connection: Connection, workers: dict[Connection, BaseProcess]) -> range:
    """The block that a process has written, or the error that ended it."""
    try:
        answer = connection.recv()
    except (EOFError, OSError):
        raise _lost(workers[connection]) from None
    if isinstance(answer, BaseException):
        raise answer
    assert isinstance(answer, range)
    return answer


def _lost(process: BaseProcess) -> BenchError:
    process.join(timeout=5)
    code = process.exitcode
    how = f"by {signal.Signals(-code).name}" if code is not None and code < 0 else f"with exit code {code}"
    return BenchError(
        f"a worker ended {how}; run the same command again to resume, with fewer --workers if memory is short"
    )


def _serve(connection: Connection, work: Work) -> None:
    """Encode and write blocks until the parent closes the connection."""
    import torch

    from elmo_bench.loading import find_chosen

    torch.set_num_threads(work.threads)
    try:
        descriptor = recv_handle(connection)
        for directory in work.directories:
            add_directory(directory)
        found = find_chosen(work.encoder)
        encoder = found.load()
        while True:
            block, places, sentences = connection.recv()
            write_values(descriptor, places, encode_finite(found.card.name, encoder, sentences))
            connection.send(block)
    except EOFError:
        return
    except (BenchError, OSError) as error:
        with suppress(OSError):  # the parent may have ended
            connection.send(error)
