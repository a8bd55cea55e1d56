"""Files of word vectors: what is read, what is refused, and the copy that is kept."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_bench.data import vectors as vectors_module
from elmo_bench.data.vectors import MATRIX_FILE, WordVectors, join_vectors, read_vectors, read_vectors_once
from elmo_bench.data.word_table import word_table
from elmo_bench.types import DataError

FILE = "the 1 2\n. -0.5 1e-1\n1987 4 0\n10 2 2\npaul 3 3\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "vectors.txt"


def read(file: Path, text: str | bytes) -> WordVectors:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_vectors(file)


@pytest.mark.parametrize(
    "content",
    [
        FILE.encode(),
        gzip.compress(FILE.encode()),
        ("5 2\n" + FILE).encode(),
        FILE.replace("\n", " \r\n").encode(),
        ("\ufeff" + FILE.rstrip()).encode(),
        (FILE + "the 9 9\n").encode(),
    ],
    ids=["GloVe", "gzip", "word2vec header", "trailing blanks", "byte order mark", "a repeated word"],
)
def test_a_file_of_vectors_is_read_in_order(file: Path, content: bytes) -> None:
    vectors = read(file, content)
    assert vectors.words == ("the", ".", "1987", "10", "paul")
    assert vectors.matrix.dtype == np.float32
    assert vectors.matrix.tolist() == np.float32([[1, 2], [-0.5, 0.1], [4, 0], [2, 2], [3, 3]]).tolist()


def test_a_word_may_hold_blanks_and_signs(file: Path) -> None:
    assert read(file, 'a 1 2\n. . 3 4\n#"1\u00a02" 5 6\n').words == ("a", ". .", '#"1\u00a02"')


@pytest.mark.parametrize(
    ("text", "line", "got"),
    [
        ("a 1 2\nb 1\n", 2, "'b 1'"),
        ("a 1 2\nb 1 2 x\n", 2, "'b 1 2 x'"),
        ("a 1 2\nb 1  2\n", 2, "'b 1  2'"),
        ("a 1 2\n\nb 1 2\n", 2, "''"),
        ("a 1 2\nb 1 nan\n", 2, "'b 1 nan'"),
        ("a 1 2\nb 1 1e39\n", 2, "'b 1 1e39'"),
        ("a 1 2\n 1 2\n", 2, "' 1 2'"),
        ("2 2\na\tx 1 2\nb\t1\t2\n", 3, r"'b\\t1\\t2'"),
        ("\na 1 2\n", 1, "''"),
        ("word\n", 1, "'word'"),
        ("", 1, "an empty file"),
        (b"a 1 2\n\xff 1 2\n", 2, "byte 0xff"),
        (b"a 1 2\nb\0 1 2\n", 2, "a NUL character"),
        (b"a 1 2\nb 1 \xff\n", 2, "b 1"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(
    file: Path, text: str | bytes, line: int, got: str
) -> None:
    with pytest.raises(DataError, match=got) as caught:
        read(file, text)
    assert str(caught.value).startswith(f"{file}:{line}: expected ")


def test_lines_are_counted_beyond_one_block(file: Path) -> None:
    lines = [f"w{number} {number} 1" for number in range(20_000)]
    vectors = read(file, "\n".join(lines))
    assert vectors.words[9999] == "w9999"
    assert vectors.matrix[:, 0].tolist() == list(range(20_000))
    lines[17_000] = "w17000 1"
    with pytest.raises(DataError, match=":17001: expected a word and 2 finite numbers"):
        read(file, "\n".join(lines))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(st.binary(max_size=40) | st.text("a 1.e-\n\t", max_size=40).map(str.encode))
def test_any_bytes_give_vectors_or_a_data_error(file: Path, content: bytes) -> None:
    try:
        assert len(read(file, content).words) > 0
    except DataError as error:
        assert str(error).startswith(f"{file}:")


def test_a_file_is_parsed_once_and_a_damaged_copy_is_made_again(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_bytes("the 1 2\na\u2028b 3 4\nÜ 5e-8 -6\n".encode())
    parsed, cache, told = read_vectors(file), tmp_path / "cache", list[str]()
    first = read_vectors_once(file, cache, told.append)
    with monkeypatch.context() as patch:
        patch.setattr(vectors_module, "read_vectors", None)
        second = read_vectors_once(file, cache, told.append)
    (matrix,) = cache.glob(f"*/{MATRIX_FILE}")
    content = bytearray(matrix.read_bytes())
    content[-1] ^= 1
    matrix.write_bytes(content)
    third = read_vectors_once(file, cache, told.append)
    for found in (first, second, third):
        assert found.words == parsed.words
        assert found.matrix.tobytes() == parsed.matrix.tobytes()
    assert [message.partition(": ")[2] for message in told] == [
        f"{MATRIX_FILE} differs from its checksum; making it again"
    ]
    file.write_bytes(b"other 1 2\n")
    assert read_vectors_once(file, cache, told.append).words == ("other",)


def test_joined_files_have_their_vectors_side_by_side() -> None:
    first = WordVectors(("the", "cat"), np.float32([[3, 4], [1, 0]]))
    second = WordVectors(("cat", "dog"), np.float32([[5], [6]]))
    joined = join_vectors([first, second])
    assert joined.words == ("the", "cat", "dog") and joined.widths == (2, 1)
    assert joined.matrix.tolist() == [[3, 4, 0], [1, 0, 5], [0, 0, 6]]
    assert join_vectors([first]) is first
    for trainable in (False, True):
        table = word_table("file", joined, ["zebra"], dim=0, seed=1, trainable=trainable)
        assert table.widths == (2, 1) and table.dim == 3


def test_the_shared_vectors_are_read_within_seconds(shared: Path) -> None:
    start = time.perf_counter()
    vectors = read_vectors(shared / "vectors" / "glove.6B.100d.merged.100k.txt.gz")
    assert time.perf_counter() - start < 15  # about one second on a quiet machine
    assert vectors.matrix.shape == (100_000, 100)
    assert vectors.matrix[0, :2].tolist() == np.float32([-0.038194, -0.24487]).tolist()
