"""SQuAD, SNLI, sentiment trees, CoNLL-U and word senses: what is read, and what is refused where."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_bench.cli.score import squad_figures
from elmo_bench.data.conllu import read_conllu
from elmo_bench.data.snli import read_snli
from elmo_bench.data.squad import Answer, read_answers, read_squad
from elmo_bench.data.trees import Phrase, read_trees
from elmo_bench.data.wsd import Sense, read_inventory, read_keys, read_sense_sentences
from elmo_bench.types import DataError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def write(file: Path, text: str | bytes) -> Path:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def refuses(read: Callable[[Path], Any], file: Path, line: int, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint) as caught:
        list(read(file))
    assert str(caught.value).startswith(f"{file}:{line}: expected ")


def squad(**changes: Any) -> dict[str, Any]:
    question = {
        "id": "q1",
        "question": "Who?",
        "answers": [{"answer_start": 2, "text": "Zoë"}, {"answer_start": 10, "text": "him"}],
    }
    paragraph = {"context": "😀 Zoë saw him.", "qas": [question | changes]}
    return {"version": "1.1", "data": [{"title": "Sight", "paragraphs": [paragraph]}]}


def test_squad_offsets_count_characters(file: Path) -> None:
    [question] = read_squad(write(file, json.dumps(squad())))
    assert (question.id, question.article, question.question) == ("q1", "Sight", "Who?")
    assert question.answers == (Answer(2, "Zoë"), Answer(10, "him"))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"answers": [{"answer_start": 3, "text": "Zoë"}]},
            r"'Zoë' in the context from character 3, got 'oë '",
        ),
        ({"answers": [{"answer_start": -1, "text": "."}]}, r"'.' in the context from character -1"),
        ({"answers": [{"answer_start": True, "text": "."}]}, r"a number, got 'true' at .*answer_start"),
        ({"answers": [{"answer_start": 2, "text": " "}]}, r"an answer, got ' ' at .*answers\[0\].text"),
        ({"answers": []}, r"at least one answer, got none at data\[0\].paragraphs\[0\].qas\[0\].answers"),
        ({"answers": None}, "a list, got 'null'"),
        ({"id": 7}, "a string, got '7'"),
        ({"question": "\ud800"}, "half of a character pair"),
    ],
)
def test_faulty_questions_are_named_by_their_place(
    file: Path, changes: dict[str, Any], complaint: str
) -> None:
    refuses(read_squad, write(file, json.dumps(squad(**changes))), 1, complaint)


def test_faulty_squad_files(file: Path) -> None:
    document = squad()
    document["data"] *= 2
    refuses(read_squad, write(file, json.dumps(document)), 1, "a new question id, got 'q1' at")
    refuses(read_squad, write(file, '{"data": []}'), 1, "at least one question, got none")
    refuses(read_squad, write(file, "{}"), 1, "the key 'data', got the keys 'none' at the top")
    refuses(read_squad, write(file, "[1]"), 1, "an object, got '\\[1\\]' at the top")
    refuses(read_squad, write(file, '{"data":\n oops}'), 2, "JSON, got 'oops}' at column 2")
    refuses(read_squad, write(file, "[" * 100_000), 1, "JSON")
    refuses(read_squad, write(file, "9" * 10_000), 1, "JSON of a sane size")


def test_predictions_may_miss_questions_and_know_others(tmp_path: Path) -> None:
    dataset = write(tmp_path / "dataset", json.dumps(squad()))
    answers = write(tmp_path / "answers", '{"q1": "the Zoë", "q2": ""}')
    assert squad_figures(dataset, answers) == {
        "exact_match": 100, "f1": 100, "questions": 1, "answered": 1, "unknown": 1,
    }  # fmt: skip
    assert squad_figures(dataset, write(answers, "{}"))["exact_match"] == 0
    refuses(read_answers, write(answers, '{"q1": ["Zoë"]}'), 1, "a string, got .* at q1")
    refuses(read_answers, write(answers, "[]"), 1, "an object from question ids to answers")


def pair(label: str = "neutral", premise: str = "A man.", hypothesis: str = "Men.") -> str:
    return json.dumps({"gold_label": label, "sentence1": premise, "sentence2": hypothesis, "more": 1}) + "\n"


def test_pairs_without_label_or_words_are_dropped_and_counted(file: Path) -> None:
    read = read_snli(write(file, pair() + "\n" + pair("-") + pair(hypothesis=" ") + pair("entailment")))
    assert [(one.line, one.label) for one in read.pairs] == [(1, "neutral"), (5, "entailment")]
    assert (read.unlabelled, read.blank) == (1, 1)
    assert (read.pairs[0].premise, read.pairs[0].hypothesis) == ("A man.", "Men.")


def test_faulty_pairs_are_named_with_file_and_line(file: Path) -> None:
    def read(path: Path) -> Any:
        return read_snli(path).pairs

    refuses(
        read, write(file, pair() + pair("Neutral")), 2, "one of entailment, .* got 'Neutral' at gold_label"
    )
    refuses(read, write(file, pair() + "{'a': 1}\n"), 2, "JSON, got .* at column 2")
    refuses(read, write(file, pair() + "\n[]\n"), 3, "an object")
    refuses(read, write(file, '{"gold_label": "-", "sentence1": "a"}'), 1, "the key 'sentence2'")
    refuses(read, write(file, pair("-")), 1, "at least one labelled sentence pair")
    refuses(read, write(file, ""), 1, "at least one sentence pair")


def test_trees_give_words_and_every_node(file: Path) -> None:
    tree, leaf = read_trees(write(file, "(3 (2 It) (4 (2 's)\t(4 good\\/bad)))\n\n(0 no)\n"))
    assert (tree.line, tree.words, tree.label) == (1, ("It", "'s", "good\\/bad"), 3)
    assert tree.phrases == (
        Phrase(0, 3, 3), Phrase(0, 1, 2), Phrase(1, 3, 4), Phrase(1, 2, 2), Phrase(2, 3, 4),
    )  # fmt: skip
    assert (leaf.line, leaf.phrases) == (3, (Phrase(0, 1, 0),))


def test_deep_trees_need_no_recursion(file: Path) -> None:
    depth = 20_000
    [tree] = read_trees(write(file, "(1 " * depth + "x" + ")" * depth))
    assert (tree.words, len(tree.phrases)) == (("x",), depth)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("(5 x)", "a label from 0 to 4 after \\(, got '5'"),
        ("(x)", "a label from 0 to 4"),
        ("()", "a label from 0 to 4"),
        ("(2)", "each node to hold one word or other nodes, got '\\)'"),
        ("(2 a b)", "each node to hold one word or other nodes, got 'b'"),
        ("(2 (1 a) b)", "each node to hold one word or other nodes, got 'b'"),
        ("(2 a (1 b))", "\\) after a word, got another"),
        ("(2 a) (1 b)", "one tree per line, got another"),
        ("(2 a", "all brackets closed, got 1 open"),
        ("(2 a))", "each node to hold"),
        ("word", "each node to hold"),
        ("(", "all brackets closed"),
    ],
)
def test_faulty_trees_are_named_with_file_and_line(file: Path, line: str, complaint: str) -> None:
    refuses(read_trees, write(file, f"(2 fine)\n{line}\n"), 2, complaint)


CONLLU = """\
# newdoc id = one
# text = I don't
1\tI\tI\tPRON\tPRP\t_\t_\t_\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t_\t_\t_\t_
2.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_
3\tn't\tnot\tPART\tRB\t_\t_\t_\t_\t_

#newdoc
1\t#\t#\tSYM\tSYM\t_\t_\t_\t_\t_"""


def test_conllu_words_without_spans_and_empty_nodes(file: Path) -> None:
    first, second = read_conllu(write(file, CONLLU))
    assert (first.document, first.line, first.words) == (1, 3, ("I", "do", "n't"))
    assert (first.universal, first.specific) == (("PRON", "AUX", "PART"), ("PRP", "VBP", "RB"))
    assert (second.document, second.line, second.words) == (2, 10, ("#",))


def test_faulty_conllu_is_named_with_file_and_line(file: Path) -> None:
    refuses(read_conllu, write(file, CONLLU.replace("3\tn't", "4\tn't")), 7, "word number 3, got '4'")
    refuses(
        read_conllu,
        write(file, CONLLU.replace("\tSYM\tSYM", "\tSYM")),
        10,
        "10 columns separated by tabs, got 9",
    )
    refuses(read_conllu, write(file, CONLLU.replace("\t", " ")), 3, "10 columns separated by tabs, got 1")
    refuses(read_conllu, write(file, CONLLU.replace("1\tI\tI", "1\t\tI")), 3, "a word in the second column")
    refuses(read_conllu, write(file, "# text\n"), 1, "at least one sentence")


SENSES = """\
<?xml version="1.0" encoding="UTF-8" ?>
<corpus lang="en">
<text id="d0">
<sentence id="s0">
<wf lemma="the" pos="DET">The</wf>
<instance id="t0" lemma="art_form" pos="NOUN">art &amp; form</instance>
<instance id="t1" lemma="be" pos="VERB">is</instance>
</sentence>
<sentence id="s1"></sentence>
</text>
</corpus>
"""
KEYS = "t0 art_form%1:09:00::\nt1 be%2:42:03:: be%2:42:05::\n"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return write(tmp_path / "keys", KEYS)


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())])
def test_sense_sentences(file: Path, keys: Path, pack: Callable[[str], bytes]) -> None:
    [sentence] = read_sense_sentences(write(file, pack(SENSES)), keys)
    assert (sentence.id, sentence.words) == ("s0", ("The", "art", "&", "form", "is"))
    art, be = sentence.instances
    assert (art.lemma, art.part_of_speech, art.start, art.end) == ("art_form", "n", 1, 4)
    assert (be.start, be.end, be.keys) == (4, 5, ("be%2:42:03::", "be%2:42:05::"))


def test_documents_types_are_refused_so_entities_do_nothing(file: Path, keys: Path, tmp_path: Path) -> None:
    secret = write(tmp_path / "secret", "secret")
    for entity in ('"ha"', f'SYSTEM "{secret.as_uri()}"'):
        hostile = SENSES.replace("<corpus", f"<!DOCTYPE c [<!ENTITY e {entity}>]>\n<corpus").replace(
            "is<", "&e;<"
        )
        refuses(lambda path: read_sense_sentences(path, keys), write(file, hostile), 2, "no document type")


@pytest.mark.parametrize(
    ("before", "after", "line", "complaint"),
    [
        ("</wf>", "</w>", 5, "XML, got mismatched tag"),
        ('id="t1" ', "", 7, "an instance with id, lemma and pos, got none of id"),
        ('pos="VERB"', 'pos="V"', 7, "one of NOUN, VERB, ADJ, ADV, got 'V'"),
        ('id="t1"', 'id="t9"', 7, "a gold key for every instance, got none for t9"),
        ("The", "", 5, "a word, got an empty <wf>"),
        ('<text id="d0">', "<wf>a</wf><text>", 3, "corpus, text, sentence .* got <wf> in <corpus>"),
        ("&amp;", "&who;", 6, "XML, got undefined entity"),
        ("</corpus>\n", "", 11, "XML, got no element found"),
    ],
)
def test_faulty_xml_is_named_with_file_and_line(
    file: Path, keys: Path, before: str, after: str, line: int, complaint: str
) -> None:
    write(file, SENSES.replace(before, after, 1))
    refuses(lambda path: read_sense_sentences(path, keys), file, line, complaint)


def test_faulty_keys(keys: Path) -> None:
    refuses(read_keys, write(keys, KEYS + "t2\n"), 3, "an instance id and at least one sense key, got 't2'")
    refuses(read_keys, write(keys, KEYS + KEYS), 3, "a new instance id, got 't0'")
    refuses(read_keys, write(keys, ""), 1, "at least one line")


TABLE = "lemma\tpos\tsense_number\tsense_key\nArt\ta\t2\tart%5:00:00:x:01\nart\ta\t1\tart%3:00:01::\n"
INDEX = "art%5:00:00:x:01 00000001 2 0\nart%3:00:01:: 00000002 1 9\n"


@pytest.mark.parametrize("text", [TABLE, INDEX])
def test_senses_are_in_order_and_satellites_are_adjectives(file: Path, text: str) -> None:
    inventory = read_inventory(write(file, text))
    assert inventory.senses("Art", "a") == (Sense("art%3:00:01::", 1), Sense("art%5:00:00:x:01", 2))
    assert inventory.senses("art", "n") == ()


def test_faulty_senses(file: Path) -> None:
    def read(path: Path) -> list[Any]:
        return [read_inventory(path)]

    refuses(read, write(file, INDEX + "art 1 2 3\n"), 3, "a sense key such as .* got 'art 1 2 3'")
    refuses(read, write(file, INDEX.replace(" 2 0", " two 0")), 1, "a sense key")
    refuses(read, write(file, "sense_key\tsense_number\n"), 1, "at least one sense")


READERS: list[Callable[[Path], Any]] = [
    lambda path: list(read_squad(path)),
    lambda path: list(read_answers(path)) or ["an empty object is fine"],
    lambda path: read_snli(path).pairs,
    lambda path: list(read_trees(path)),
    lambda path: list(read_conllu(path)),
    lambda path: [read_inventory(path)],
    lambda path: list(read_keys(path)) or ["blank lines alone are fine"],
    lambda path: list(read_sense_sentences(path, path.parent / "keys")),
]
LINES = st.sampled_from(
    [*CONLLU.splitlines(), *SENSES.splitlines(), KEYS, INDEX, TABLE, json.dumps(squad()), pair().strip(),
     "(2 (1 a) (3 b))", "", "{", "[]", "(", "\r", "\0", '{"data": [1]}', "<corpus/>", "null"]
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(READERS)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(st.binary(max_size=60) | st.lists(LINES, max_size=9).map(lambda lines: "\n".join(lines).encode()))
def test_any_bytes_give_examples_or_a_data_error(file: Path, keys: Path, number: int, content: bytes) -> None:
    file.write_bytes(content)
    try:
        assert READERS[number](file)
    except DataError as error:
        assert str(error).startswith(f"{file}:")
