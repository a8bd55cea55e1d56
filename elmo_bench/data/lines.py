"""Text files as numbered lines, and the common form of all errors in files."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar, cast

from elmo_bench.types import DataError, DataMissingError

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Item = TypeVar("Item")


def fault(path: Path, line: int, expected: str, got: str, remedy: str = "") -> DataError:
    """The error for a line that breaks its format: location, expected content, actual content."""
    return DataError(f"{path}:{line}: expected {expected}, got {got}" + (f"; {remedy}" if remedy else ""))


def shown(text: str, width: int = 60) -> str:
    """An excerpt of a file, quoted and shortened for an error message."""
    return repr(text if len(text) <= width else text[: width - 3] + "...")


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a plain or gzip-compressed file; the content decides, not the name."""
    try:
        with path.open("rb") as plain:
            compressed = plain.read(2) == GZIP_MAGIC
            plain.seek(0)
            # GzipFile reads like any binary file; its type stub does not declare it
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=plain)) if compressed else plain
    except FileNotFoundError as error:
        raise DataMissingError(f"{path}: no such file") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: expected a whole gzip file, got a damaged one ({error})") from error
    except OSError as error:
        raise DataMissingError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:  # a path with a NUL in it never reaches the file system
        if isinstance(error, UnicodeError):
            raise
        raise DataMissingError(f"{str(path)!r}: cannot be read ({error})") from error


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and lines without their ending; only a line feed ends a line."""
    with open_bytes(path) as file:
        for number, raw in enumerate(file, start=1):
            yield number, decode_line(path, number, raw)


def decode_line(path: Path, number: int, raw: bytes) -> str:
    """One line as text, without byte order mark and line ending; an error unless it is UTF-8 without NUL."""
    if number == 1:
        raw = raw.removeprefix(BYTE_ORDER_MARK)
    try:
        line = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        got = f"byte 0x{raw[error.start]:02x} at position {error.start + 1}"
        raise fault(path, number, "UTF-8 text", got, "convert the file to UTF-8") from error
    if "\0" in line or "\r" in line:
        got = "a NUL character" if "\0" in line else "a carriage return inside the line"
        raise fault(path, number, "plain text", got, "is this a text file with line feeds?")
    return line


def require_any(path: Path, items: Iterable[Item], what: str) -> Iterator[Item]:
    """Pass the items on; an error if there are none."""
    empty = True
    for item in items:
        empty = False
        yield item
    if empty:
        raise fault(path, 1, f"at least one {what}", "none", "the file is empty or of another format")
