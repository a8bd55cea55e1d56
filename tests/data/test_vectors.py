"""Word vectors: files, tables, and the look-up from the exact word down to the number token."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_bench.data import vectors as vectors_module
from elmo_bench.data.vectors import (
    MATRIX_FILE,
    NUMBER,
    WordVectors,
    is_number,
    join_vectors,
    read_vectors,
    read_vectors_once,
    word_table,
)
from elmo_bench.types import DataError, UsageError

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


def test_the_look_up_goes_from_the_word_to_lower_case_to_the_number_token(file: Path) -> None:
    words = ["The", "the", "Zaphod", "1988", "Paul", "zebra"]
    table = word_table("file", read(file, FILE), words, dim=0, seed=1, trainable=True)
    assert table.words == ("the", ".", "1987", "10", "paul", NUMBER, "Zaphod", "zebra")
    assert table.dim == 2
    ids = table.ids(("the", "The", "1987", "1988", "3.5", "Zaphod", "ZEBRA", "zaphod", "x1"))
    assert ids.tolist() == [2, 2, 4, 7, 7, 8, 9, 1, 1]
    assert ids.dtype == torch.long
    assert table.matrix[:2].eq(0).all()
    assert table.matrix[7].tolist() == [3, 1]  # the mean of 1987 and 10
    strangers = table.matrix[8:]
    assert strangers.abs().min() > 0 and strangers.abs().max() <= 0.05


def test_a_word_without_a_frozen_vector_looks_the_same_in_training_and_in_test_text(file: Path) -> None:
    vectors = read(file, FILE)
    table = word_table("file", vectors, ["The", "Zaphod", "12"], dim=0, seed=1, trainable=False)
    assert table.words == ("the", ".", "1987", "10", "paul", NUMBER)
    known, unknown = table.ids(("The", "paul", "12")), table.ids(("Zaphod", "zebra"))
    assert table.matrix[known].abs().sum(1).gt(0).all()
    assert table.matrix[unknown].eq(0).all()
    assert table.coverage([("Zaphod", "zebra", "The", "12")]) == {
        "tokens": 4, "exact": 0, "lower_cased": 25, "number": 25, "training_only": 0, "unknown": 50,
    }  # fmt: skip
    without_numbers = word_table("file", read(file, "the 1 2\n"), ["12"], dim=0, seed=1, trainable=False)
    assert without_numbers.matrix[without_numbers.ids(("12",))].eq(0).all()


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


def test_frozen_vectors_do_not_depend_on_the_seed(file: Path) -> None:
    vectors = read(file, FILE)
    one, other = (word_table("file", vectors, ["Zaphod"], 0, seed, trainable=False) for seed in (1, 2))
    assert one.words == other.words and one.matrix.equal(other.matrix)


def test_coverage_says_how_every_token_was_found(file: Path) -> None:
    table = word_table("file", read(file, FILE), ["Zaphod"], dim=0, seed=1, trainable=True)
    coverage = table.coverage([("the", "The", "1066", "Zaphod"), ("qq", "PAUL", "the", "the")])
    assert coverage == {
        "tokens": 8, "exact": 37.5, "lower_cased": 25, "number": 12.5, "training_only": 12.5, "unknown": 12.5,
    }  # fmt: skip
    assert table.coverage([])["unknown"] == 0


def test_random_tables_depend_on_seed_and_training_words_alone() -> None:
    words = ["b", "A", "7", "b"]
    table, again = (word_table("random", None, order, 5, 3, True) for order in (words, words[::-1]))
    other = word_table("random", None, words, 5, 4, True)
    assert table.words == again.words == (NUMBER, "A", "b")
    assert table.matrix.equal(again.matrix) and not table.matrix.equal(other.matrix)
    assert table.matrix.shape == (5, 5)
    assert table.ids(("b", "B", "a", "8", "z")).tolist() == [4, 4, 1, 2, 1]
    with pytest.raises(UsageError, match=r"words\.dim: expected a positive dimension"):
        word_table("random", None, words, 0, 3, True)


def test_no_words_is_a_table_of_width_zero() -> None:
    table = word_table("none", None, ["a"], 7, 0, True)
    assert table.matrix.shape == (2, 0)
    assert not table.trainable
    assert table.ids(("a", "b")).tolist() == [1, 1]


def test_numbers_are_digits_with_signs() -> None:
    assert all(map(is_number, ["7", "1,000", "-3.5", "$5", "10-12", "50%"]))
    assert not any(map(is_number, ["", "-", "7th", "x1", "1960s"]))


def test_the_shared_vectors_are_read_within_seconds(shared: Path) -> None:
    start = time.perf_counter()
    vectors = read_vectors(shared / "vectors" / "glove.6B.100d.merged.100k.txt.gz")
    assert time.perf_counter() - start < 15  # about one second on a quiet machine
    assert vectors.matrix.shape == (100_000, 100)
    assert vectors.matrix[0, :2].tolist() == np.float32([-0.038194, -0.24487]).tolist()
