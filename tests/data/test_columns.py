"""Column files: what is read, and what is refused with file and line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_bench.data.columns import read_columns
from elmo_bench.data.conll2003 import read_entities, read_scored
from elmo_bench.data.plain import label_blindly
from elmo_bench.types import DataError, DataMissingError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.conll"


def write(file: Path, text: str | bytes) -> Path:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize(
    "text",
    [
        "U.N. NNP I-ORG\nhopes VBZ O\n\nBaghdad NNP I-LOC\n",
        "\ufeffU.N. NNP I-ORG\nhopes VBZ O\n\nBaghdad NNP I-LOC\n",
        "U.N. NNP I-ORG\r\nhopes VBZ O\r\n\r\nBaghdad NNP I-LOC\r\n",
        "U.N. NNP I-ORG\nhopes VBZ O\n\nBaghdad NNP I-LOC",
        "U.N.\tNNP\tI-ORG\nhopes\tVBZ\tO\n\nBaghdad\tNNP\tI-LOC\n",
        "\n\nU.N.  NNP I-ORG \nhopes \t VBZ O\n \t\n\n\nBaghdad NNP I-LOC\n\n\n",
    ],
    ids=["plain", "byte order mark", "CRLF", "no final newline", "tabs", "stray blanks"],
)
def test_harmless_differences_change_nothing(file: Path, text: str) -> None:
    write(file, text)
    read = [(sentence.words, sentence.tags) for sentence in read_entities(file)]
    assert read == [(("U.N.", "hopes"), ("B-ORG", "O")), (("Baghdad",), ("B-LOC",))]
    assert list(read_entities(write(file, gzip.compress(text.encode())))) == list(
        read_entities(write(file, text))
    )


def test_document_starts_are_borders_and_not_sentences(file: Path) -> None:
    write(file, "-DOCSTART- -X- O O\n\na _ _ O\n\nb _ _ O\n\n-DOCSTART-\n\nc _ _ O\n-DOCSTART-\nd _ _ O\n")
    read = [(sentence.document, sentence.line, sentence.words) for sentence in read_entities(file)]
    assert read == [(1, 3, ("a",)), (1, 5, ("b",)), (2, 9, ("c",)), (3, 11, ("d",))]


def test_a_no_break_space_is_part_of_a_word(file: Path) -> None:
    write(file, "1\u00a0000 O\n\u2028 O\n")
    assert next(read_entities(file)).words == ("1\u00a0000", "\u2028")


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("a _ O\nb O\n", 2, "expected 3 columns, got 2: 'b O'"),
        ("a _ O\n\nb _ _ O\n", 3, "expected 3 columns, got 4"),
        ("a\nb\n", 1, "expected 2 columns, got 1"),
        ("a O\nb\0 O\n", 2, "a NUL character"),
        ("a O\rb O\n", 1, "a carriage return inside the line"),
        (b"a O\n\xff O\n", 2, "expected UTF-8 text, got byte 0xff at position 1"),
        ("", 1, "expected at least one sentence, got none"),
        ("-DOCSTART- O\n\n", 1, "expected at least one sentence, got none"),
        ("a B-PER\n\nb O\nc I-PER\n", 4, "I-PER after O; .* so far these are IOB2"),
        ("a I-PER\n\nb O\nc B-PER\n", 4, "B-PER after O; .* so far these are IOB1"),
        ("a I-PER\n\nb S-PER\n", 3, "'S-PER'; .* so far these are IOB1"),
        ("a B-PER\nb E-PER\n\nb B-LOC\n", 4, "B-LOC at the sentence end; .* so far these are BIOES"),
        ("a B-PER\nb PER\n", 2, "expected O or one of B, I with a type, as in B-PER, got 'PER'"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(
    file: Path, text: str | bytes, line: int, complaint: str
) -> None:
    with pytest.raises(DataError, match=complaint) as caught:
        list(read_entities(write(file, text)))
    assert str(caught.value).startswith(f"{file}:{line}: expected ")


def test_predictions_may_be_illegal_but_not_unknown(file: Path) -> None:
    [sentence] = read_scored(write(file, "a _ O I-PER\nb _ B-PER E-LOC\n"))
    assert (sentence.gold, sentence.predicted) == (("O", "B-PER"), ("I-PER", "E-LOC"))
    with pytest.raises(DataError, match=r":2: expected a gold and a predicted tag .* got 'PERSON'"):
        list(read_scored(write(file, "a O O\nb PERSON O\n")))
    with pytest.raises(DataError, match=r":1: expected 3 columns, got 2"):
        list(read_scored(write(file, "a O\n")))


def test_conlleval_takes_a_document_start_for_a_word(file: Path) -> None:
    first, second = read_scored(write(file, "-DOCSTART- O O\n\na O O\n-DOCSTART-\n"))
    assert (first.words, second.words) == (("-DOCSTART-",), ("a",))


def test_files_that_cannot_be_opened_are_missing(tmp_path: Path, file: Path) -> None:
    for path in (file, tmp_path, tmp_path / "a\0b"):
        with pytest.raises(DataMissingError):
            list(read_columns(path, minimum=1))


def test_a_damaged_gzip_file_is_a_data_error(file: Path) -> None:
    whole = gzip.compress(b"a O\n" * 1000)
    for damaged in (whole[:-6], whole[:20], whole[:12] + b"\xff\xff" + whole[14:]):
        with pytest.raises(DataError, match="damaged"):
            list(read_columns(write(file, damaged), minimum=1))


def test_a_very_long_sentence_is_one_sentence(file: Path) -> None:
    [sentence] = read_entities(write(file, "w O\n" * 100_000))
    assert len(sentence.words) == 100_000


LINES = st.sampled_from(
    ["", "a O", "a B-PER", "b I-PER", "c S-PER", "-DOCSTART- O", "a _ O", "a", "\ufeff", "\r", "\0", "\t"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(st.binary(max_size=60) | st.lists(LINES, max_size=8).map(lambda lines: "\n".join(lines).encode()))
def test_any_bytes_give_sentences_or_a_data_error(file: Path, content: bytes) -> None:
    write(file, content)
    for read in (read_entities, read_scored):
        try:
            assert list(read(file))
        except DataError as error:
            assert str(error).startswith(f"{file}:")


def test_a_document_mark_in_plain_text_is_refused_where_it_would_be_no_word(file: Path) -> None:
    write(file, "Baghdad fell .\n-DOCSTART-\n")
    with pytest.raises(DataError, match=r"file\.conll:2: expected words, got -DOCSTART-"):
        label_blindly(file, "columns", file.with_suffix(".labelled"))
    assert label_blindly(file, "conllu", file.with_suffix(".labelled")) == 0
