"""Propositions and coreference in CoNLL-2005 and CoNLL-2012 columns: what is read, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_bench.cli.score import coref_figures, srl_figures
from elmo_bench.data.brackets import Proposition, parse_brackets
from elmo_bench.data.conll2005 import read_props
from elmo_bench.data.conll2012 import read_documents
from elmo_bench.data.coreference import Mention, read_coreference, write_coreference
from elmo_bench.data.tags import Chunk
from elmo_bench.types import DataError

PROPS = (
    "-\t(A0*\nsee\t(V*)\n-\t*\n".replace("(A0*", "(A0*)") + "\n-\n\n-  (A1*  *\nbe (V*)  (A0*)\ngo *) (V*)\n"
)

ONTONOTES = """\
#begin document (bc/cctv/00/cctv_0000); part 000
bc/cctv/00/cctv_0000   0   0    In   IN  (TOP(S(PP*   -   -   -   Speaker#1   *   (ARGM-LOC*   *   (3
bc/cctv/00/cctv_0000   0   1    it   PRP (NP*))       -   -   -   Speaker#1   *   *)   *    (1)|3)
bc/cctv/00/cctv_0000   0   2    were  VBD (VP*        be  03  1   Speaker#1   *   (V*) *    -
bc/cctv/00/cctv_0000   0   3    taking VBG *)))       take 01 2   Speaker#1   *   *   (V*)  (1)

bc/cctv/00/cctv_0000   0   0    Yes   UH  (TOP*)      -   -   -   -           *   -
#end document

#begin document (bc/cctv/00/cctv_0000); part 001
bc/cctv/00/cctv_0000   1   0    -LRB-   -LRB-  (TOP*)  -   -   -   -           *   (12)
#end document
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def write(file: Path, text: str) -> Path:
    file.write_bytes(text.encode())
    return file


def test_props_give_each_predicate_its_column(file: Path) -> None:
    first, second, third = read_props(write(file, PROPS))
    assert first.propositions == (Proposition(1, "see", (Chunk("A0", 0, 1), Chunk("V", 1, 2))),)
    assert (second.length, second.propositions) == (1, ())
    assert (third.line, [one.predicate for one in third.propositions]) == (7, [1, 2])


def test_nested_and_labelled_closing_brackets(file: Path) -> None:
    column = ["(A1(A2*", "*)", "*A1)", "(V*V)", "*"]
    phrases = (Chunk("A1", 0, 3), Chunk("A2", 0, 2), Chunk("V", 3, 4))
    assert parse_brackets(file, 1, column) == phrases


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("-\t*\n", 1, "expected 0 columns of arguments for 0 predicates, got 1"),
        ("-\nsee\n", 1, "expected 1 columns of arguments for 1 predicates, got 0"),
        ("see\t(V*)\n-\n", 2, "expected 2 columns, as on the line before, got 1"),
        ("see\t(V*)\n-\t(A0*\n", 2, r"expected \(A0\* to be closed in its sentence"),
        ("see\t(V*)\n-\t*)\n", 2, "as no phrase is open, got '\\*\\)'"),
        ("see\t(V*)\n-\t(A0*A1)\n", 2, r"expected the end of A0, got '\(A0\*A1\)'"),
        ("see\t(V)\n", 1, "expected brackets around a star"),
        ("", 1, "expected at least one sentence"),
    ],
)
def test_faulty_props_are_named_with_file_and_line(file: Path, text: str, line: int, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint) as caught:
        list(read_props(write(file, text)))
    assert str(caught.value).startswith(f"{file}:{line}: ")


def test_files_to_be_compared_must_have_the_same_sentences(tmp_path: Path) -> None:
    gold, short, cut = (write(tmp_path / name, text) for name, text in (
        ("gold", PROPS), ("short", PROPS.split("\n\n")[0]), ("cut", PROPS.replace("-\t*\n", "")),
    ))  # fmt: skip
    with pytest.raises(DataError, match=f"{short}: expected as many sentences"):
        srl_figures(gold, short)
    with pytest.raises(DataError, match=f"{cut}:1: expected 3 rows, as in sentence 1 of {gold}, got 2"):
        srl_figures(gold, cut)


def test_another_lemma_or_no_predicate_has_its_arguments_missed(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold", "see\t(V*)\n-\t(A1*)\n\nsee\t(V*)\n-\t(A1*)\n")
    other = write(tmp_path / "other", "look\t(V*)\n-\t(A1*)\n\n-\t*\nsee\t(A1*)\n")
    figures = srl_figures(gold, other)
    assert (figures["correct"], figures["excess"], figures["missed"]) == (0, 0, 2)


def test_ontonotes_columns(file: Path) -> None:
    first, second = read_documents(write(file, ONTONOTES))
    assert (first.name, first.part, second.part) == ("bc/cctv/00/cctv_0000", 0, 1)
    sentence, yes = first.sentences
    assert sentence.words == ("In", "it", "were", "taking")
    assert sentence.tags == ("IN", "PRP", "VBD", "VBG")
    assert sentence.speakers == ("Speaker#1",) * 4
    be, take = sentence.propositions()
    assert be == Proposition(2, "be", (Chunk("ARGM-LOC", 0, 2), Chunk("V", 2, 3)))
    assert take == Proposition(3, "take", (Chunk("V", 3, 4),))
    assert (yes.first_line, yes.propositions()) == (7, ())


def test_a_roleset_without_arguments_is_no_predicate(file: Path) -> None:
    text = ONTONOTES.replace("-   -   -   Speaker#1   *   (ARGM", "in 01   -   Speaker#1   *   (ARGM")
    sentence = next(read_documents(write(file, text))).sentences[0]
    assert [one.predicate for one in sentence.propositions()] == [2, 3]
    text = text.replace("(V*)  (1)", "*  (1)")
    with pytest.raises(
        DataError, match=r":2: expected a predicate for each of 2 columns of arguments, got 1"
    ):
        next(read_documents(write(file, text))).sentences[0].propositions()


def test_coreference_counts_tokens_through_the_document(file: Path) -> None:
    first, second = read_coreference(write(file, ONTONOTES))
    assert first.clusters == ((Mention(0, 2),), (Mention(1, 2), Mention(3, 4)))
    assert first.speakers[1] == ("-",)
    assert second.clusters == ((Mention(0, 1),),)


def test_coreference_survives_writing(file: Path, shared: Path) -> None:
    documents = list(read_coreference(shared / "data" / "coref" / "ontogum" / "test.conll"))
    write_coreference(file, documents)
    again = list(read_coreference(file))
    assert [one.sentences for one in again] == [one.sentences for one in documents]
    for one, other in zip(again, documents, strict=True):
        assert {frozenset(chain) for chain in one.clusters} == {frozenset(chain) for chain in other.clusters}
    assert coref_figures(file, shared / "data" / "coref" / "ontogum" / "test.conll")["average_f1"] == 100


@pytest.mark.parametrize(
    ("before", "after", "line", "complaint"),
    [
        ("(1)|3)", "(1)", 2, r"expected 3\) after \(3, got the end of the document"),
        ("(3\n", "-\n", 3, r"expected \(3 before 3\), got '\(1\)\|3\)'"),
        ("(1)|3)", "1|3)", 3, "joined by |, in the last column"),
        ("(12)", "((12)", 11, "joined by |, in the last column"),
        (
            "   *   *)   *    (1)|3)",
            "   *   *)   (1)|3)",
            3,
            "expected 14 columns, as on the line before, got 13",
        ),
        ("#end document\n\n", "", 8, "expected #end document, got '#begin document"),
        ("#end document\n\n#begin", "#end document\n#end document\n#begin", 9, "expected #begin document"),
        ("; part 001", "; part 000", 10, "expected a new document or part, got bc/cctv/00/cctv_0000, part 0"),
        ("#begin document (bc/cctv/00/cctv_0000); part 000\n", "", 1, "expected #begin document"),
        ("   *   (12)\n", "\n", 11, "expected at least 12 columns, got 10"),
        (
            "#end document\n\n",
            "#end document\n#begin document (a); part 000\n#end document\n\n",
            9,
            "expected at least one sentence in document a, part 0, got none; remove the document",
        ),
        ("(12)\n#end document\n", "(12)\n", 11, "the end of the file; is the file cut short"),
    ],
)
def test_faulty_columns_are_named_with_file_and_line(
    file: Path, before: str, after: str, line: int, complaint: str
) -> None:
    assert before in ONTONOTES
    with pytest.raises(DataError, match=complaint) as caught:
        list(read_coreference(write(file, ONTONOTES.replace(before, after))))
    assert str(caught.value).startswith(f"{file}:{line}: ")


def test_documents_to_be_compared_must_be_the_same(tmp_path: Path) -> None:
    whole, half = write(tmp_path / "whole", ONTONOTES), tmp_path / "half"
    write(half, ONTONOTES.split("\n\n#begin")[0] + "\n")
    with pytest.raises(DataError, match=f"{half}: expected the document bc/cctv/00/cctv_0000, part 001"):
        coref_figures(whole, half)
    with pytest.raises(DataError, match=f"{whole}: expected only documents of {half}"):
        coref_figures(half, whole)
    lines = ONTONOTES.splitlines(keepends=True)
    write(half, "".join(lines[:6] + lines[7:]))
    with pytest.raises(DataError, match=r"expected 5 tokens in .*, got 4"):
        coref_figures(whole, half)


PIECES = st.sampled_from(
    [*ONTONOTES.splitlines(), "", "-\t*", "a\t(V*)", "(", "a b", "#begin document", "#end document", "\r"]
)


@pytest.mark.parametrize("read", [read_props, read_coreference])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(st.binary(max_size=60) | st.lists(PIECES, max_size=8).map(lambda lines: "\n".join(lines).encode()))
def test_any_bytes_give_examples_or_a_data_error(
    file: Path, read: Callable[[Path], Iterable[object]], content: bytes
) -> None:
    file.write_bytes(content)
    try:
        assert list(read(file))
    except DataError as error:
        assert str(error).startswith(f"{file}:")
