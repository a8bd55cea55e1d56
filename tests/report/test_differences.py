"""Conditions that are described in the same words are told apart by the keys in which they differ."""

from __future__ import annotations

from elmo_bench.report.differences import distinguish
from tests.support.report_records import ELMO, NONE, make_record


def test_conditions_of_the_same_words_have_their_own_values() -> None:
    identities = ({"kind": "none"}, {"kind": "random", "dim": 50})
    records = [make_record("ner", 1, 20, ELMO, identity={"words": words}) for words in identities]
    baseline = make_record("ner", 1, 20, NONE)
    assert distinguish(["ELMo", "ELMo", "without ELMo"], [*records, baseline]) == [
        "ELMo, words.kind=none",
        "ELMo, words.dim=50, words.kind=random",
        "without ELMo",
    ]


def test_hashes_are_short_and_what_is_missing_is_left_out() -> None:
    records = [
        make_record("ner", 1, 20, NONE, identity={"words_sha256": value}) for value in ("ab" * 32, None)
    ]
    assert distinguish(["one", "one"], records) == ["one, words_sha256=abababababab", "one"]
