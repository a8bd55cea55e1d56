"""Nearest neighbours against a search by brute force, whatever the blocks; the command and its record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from elmo_bench.cli.main import main
from elmo_bench.data.vectors import WordVectors
from elmo_bench.encoders import neighbours
from elmo_bench.encoders.neighbours import (
    Occurrence,
    find_neighbours,
    find_occurrences,
    find_similar_words,
)
from elmo_bench.records import NeighboursRecord
from elmo_bench.runs.neighbours import Sentences
from elmo_bench.sweep.neighbours import KIND, read_question
from elmo_bench.types import DamagedFileError, UsageError, Words
from elmo_bench.world.lexicon import senses
from elmo_bench.world.writing import plain_text
from tests.conftest import PROJECT
from tests.support.composition import answer_one, compose, locate_answer
from tests.support.report_records import read_records, read_records_of

LETTERS = "abcdefgh"


class Hashed:
    """A vector for each word, moved by its left neighbour: context as simple as can be."""

    fingerprint, layer_count, dim = "hashed", 2, 6

    def layers(self, sentences: Sequence[Words]) -> list[NDArray[np.float32]]:
        return [self._of(words) for words in sentences]

    def _of(self, words: Words) -> NDArray[np.float32]:
        alone = np.stack([np.random.default_rng(ord(word)).normal(size=self.dim) for word in words])
        moved = alone + 0.5 * np.concatenate([np.zeros((1, self.dim)), alone[:-1]])
        return np.stack([alone, moved]).astype(np.float32)


def corpus(sentences: int) -> list[Words]:
    generator = np.random.default_rng(0)
    return [tuple(LETTERS[n] for n in generator.integers(0, 8, size=5)) for _ in range(sentences)]


@pytest.mark.parametrize("block_tokens", [1, 17, 10_000])
@pytest.mark.parametrize("candidates", ["any", "same", "other"])
def test_neighbours_are_those_of_a_search_by_brute_force(
    block_tokens: int, candidates: neighbours.Candidates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "BLOCK_TOKENS", block_tokens)
    text, encoder = corpus(60), Hashed()
    queries, total, tokens = find_occurrences(text, "c", 3)
    assert total == sum(words.count("c") for words in text)
    assert tokens == sum(map(len, text))
    *_, (_, around) = find_neighbours(encoder, text, queries, 1, 4, candidates)
    for query, found in zip(queries, around, strict=True):
        own = encoder.layers([query.words])[0][1, query.position]
        best: dict[Words, float] = {}
        for words in text:
            for position, vector in enumerate(encoder.layers([words])[0][1]):
                near = float(vector @ own / np.linalg.norm(vector) / np.linalg.norm(own))
                fits = candidates == "any" or (words[position] == "c") == (candidates == "same")
                if words != query.words and fits:
                    best[words] = max(near, best.get(words, -1.0))
        expected = sorted(best.values(), reverse=True)[:4]
        assert [near for _, near in found.nearest()] == pytest.approx(expected, abs=1e-5)
        assert query.words not in [occurrence.words for occurrence, _ in found.nearest()]


@pytest.mark.parametrize("block_tokens", [1, 17, 10_000])
@pytest.mark.parametrize("candidates", ["any", "same", "other"])
def test_a_rank_is_that_of_a_search_by_brute_force(
    block_tokens: int, candidates: neighbours.Candidates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "BLOCK_TOKENS", block_tokens)
    text, encoder = list(dict.fromkeys(corpus(60))), Hashed()
    query, _, other = find_occurrences(text, "c", 3)[0]
    *_, (_, (found,)) = find_neighbours(encoder, text, [query], 1, 4, candidates, [other])
    own = encoder.layers([query.words])[0][1, query.position]

    def near(words: Words, position: int) -> float:
        vector = encoder.layers([words])[0][1, position]
        return float(vector @ own / np.linalg.norm(vector) / np.linalg.norm(own))

    kinds = list(dict.fromkeys([candidates, "same"]))
    assert [standing.candidates for standing in found.standings] == kinds
    for standing in found.standings:
        best = {
            words: max(values)
            for words in text
            if words != query.words
            and (
                values := [
                    near(words, position)
                    for position, word in enumerate(words)
                    if standing.candidates == "any" or (word == "c") == (standing.candidates == "same")
                ]
            )
        }
        threshold = near(other.words, other.position) + 1e-6
        others = [value for words, value in best.items() if words != other.words]
        assert standing.rank == 1 + sum(value > threshold for value in others)
        assert standing.total == len(best)


def test_static_neighbours_leave_the_word_itself_out() -> None:
    matrix = np.array([[1, 0], [0.9, 0.1], [0, 1], [-1, 0]], dtype=np.float32)
    vectors = WordVectors(("play", "game", "tree", "work"), matrix)
    assert [word for word, _ in find_similar_words(vectors, "Play", 2)] == ["game", "tree"]
    assert find_similar_words(vectors, "absent", 2) == []


def test_an_occurrence_names_its_word() -> None:
    assert Occurrence(("a", "fine", "play"), 2).word == "play"


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    """A corpus, static vectors, and the command that asks about them."""
    text, vectors = tmp_path / "text.txt", tmp_path / "vectors.txt"
    text.write_text("a fine play\nthe play was long\nthey play well\nno match here\n")
    rows = {"play": "1 0 0", "game": "0.9 0.1 0", "fine": "0 1 0", "long": "0 0.9 0.2", "they": "0 0 1"}
    vectors.write_text("".join(f"{word} {row}\n" for word, row in rows.items()))
    words = ["--encoder", "words", f"encoder.file={vectors}", "--vectors", str(vectors)]
    return ["neighbours", "play", "--corpus", str(text), *words]


def test_static_vectors_are_an_encoder_like_any_other(
    places: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*places, "--queries", "1", "--count", "2"]) == 0
    printed = capsys.readouterr().out
    assert "game 0.99" in printed
    assert "        a fine [play]" in printed
    assert "  1.000 the [play] was long" in printed
    assert "  1.000 they [play] well" in printed


def test_a_sentence_of_ones_own_is_asked_about(places: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*places, "--sentence", "so long", "--word", "long", "--count", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["kind"] == "neighbours"
    assert record["contexts"][0]["query"] == {"sentence": ["so", "long"], "position": 1, "near": None}
    nearest = record["contexts"][0]["nearest"][0]
    assert (nearest["sentence"][nearest["position"]], nearest["near"]) == ("long", 1.0)


def test_a_record_is_kept_once_beside_those_of_runs(
    places: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for said in ("wrote", "already written"):
        assert main([*places, "--record", f"paths.records={tmp_path / 'records'}"]) == 0
        assert capsys.readouterr().err.splitlines()[-1].startswith(said)
    ((path, record),) = read_records_of(NeighboursRecord, tmp_path / "records")
    assert path.parent.name == "neighbours"
    assert record.occurrences == 3
    assert list(read_records(tmp_path / "records")) == []
    (tmp_path / "records" / "damaged.json").write_text("{")
    with pytest.raises(DamagedFileError, match=r"damaged\.json"):
        list(read_records(tmp_path / "records"))


@pytest.mark.parametrize(
    ("word", "stem"), [("../1/2", ".._1_2"), ("/etc", "_etc"), ("U.S.-based", "U.S.-based"), ("für", "für")]
)
def test_a_word_does_not_lead_to_another_directory(
    word: str, stem: str, places: list[str], tmp_path: Path
) -> None:
    records = tmp_path / "records"
    Path(places[3]).write_text(f"this {word} is a word\n", encoding="utf-8")
    assert main(["neighbours", word, *places[2:], "--record", f"paths.records={records}"]) == 0
    ((path, record),) = read_records_of(NeighboursRecord, records)
    assert path.parent == records / "neighbours"
    assert path.stem.rpartition("-")[0] == stem
    assert record.word == word


@pytest.fixture
def asked(places: list[str], tmp_path: Path) -> dict[str, Any]:
    """The same question as the job of an experiment."""
    text, vectors = tmp_path / "text.txt", tmp_path / "vectors.txt"
    question = ["+experiment=table4", "word=play", f"corpus={text}", "encoder=words"]
    files = [f"encoder.file={vectors}", f"words.file={vectors}", f"paths.records={tmp_path / 'records'}"]
    return compose(*question, *files, entry="neighbours")


def test_an_experiment_answers_once(asked: dict[str, Any]) -> None:
    assert not locate_answer(asked).done
    path = answer_one(asked)
    found = locate_answer(asked)
    assert (found.record, found.done) == (path, True)
    before = path.stat().st_mtime_ns
    assert answer_one(asked) == path
    assert path.stat().st_mtime_ns == before
    (Path(asked["corpus"])).write_text("another play\na play\n")  # what is read is part of the question
    other = locate_answer(asked)
    assert not other.done and other.record != path


@pytest.mark.parametrize(
    ("data", "encoder", "word", "corpus"),
    [("sample", "sample", "bank", "world"), ("open", "small", "play", "wsd/semcor")],
)
def test_an_experiment_follows_its_data(data: str, encoder: str, word: str, corpus: str) -> None:
    words = ["+experiment=table4", f"data={data}"]
    question, setting = read_question(KIND.read(compose(*words, entry="neighbours")))
    assert (question.word, question.corpus, setting.encoder.name) == (word, corpus, encoder)
    with pytest.raises(UsageError, match=r"data\.corpus: neighbours are sought in a whole text"):
        read_question(KIND.read(compose(*words, "data.corpus=x", entry="neighbours")))


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        (["data=open"], {"d004.s017": "d006.s056", "d194.s072": "d350.s045"}),
        (["data=open", "sentences=first"], None),
        (["data=open", "word=bank"], None),
        (["data=open", "corpus=text.txt"], None),
        (["data=open", "sentences={d004.s017: null}"], {"d004.s017": None}),
        (["data=sample"], None),
    ],
)
def test_the_papers_sentences_are_asked_about_where_the_corpus_has_them(
    words: list[str], sentences: dict[str, str | None] | None
) -> None:
    command = KIND.read(compose("+experiment=table4", *words, entry="neighbours"))
    assert read_question(command)[0].sentences == sentences


SENTENCES = {"s1": "a fine play", "s2": "the play was long", "s3": "they play well", "s4": "no match here"}


def own_corpus(*_: object) -> Sentences:
    rows = [(name, tuple(words.split())) for name, words in SENTENCES.items()]
    return Sentences("own", "0" * 64, lambda: iter([words for _, words in rows]), lambda: iter(rows))


def test_sentences_are_asked_about_by_id(
    places: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elmo_bench.runs.neighbours.find_sentences", own_corpus)
    assert main([*places, "--id", "s2", "s3", "--json"]) == 0
    (context,) = json.loads(capsys.readouterr().out)["contexts"]
    assert context["query"]["sentence"] == ["the", "play", "was", "long"]
    ranks = {one["candidates"]: (one["rank"], one["total"]) for one in context["ranks"]}
    assert ranks == {"any": (1, 3), "same": (1, 2)}  # without context all occurrences are equally near
    assert main([*places, "--id", "s2", "s3"]) == 0
    assert "number 1 of 2 sentences with play" in capsys.readouterr().out
    assert main([*places, "--id", "s4"]) == 2
    assert "own has no sentence s4 with 'play'; without --id" in capsys.readouterr().err
    assert main([*places, "--id", "s1", "s2", "s3"]) == 2
    assert main([*places, "--id", "s2", "s3", "--id", "s2", "s1"]) == 2
    assert "--id s2: given twice" in capsys.readouterr().err


def test_the_word_asked_of_the_generated_world_is_ambiguous_and_occurs() -> None:
    word = compose("+experiment=table4", entry="neighbours")["word"]
    assert len(senses()[word, "n"]) == 2
    assert plain_text("train", 40).split().count(word) >= 3


def test_published_runs_are_read_as_before() -> None:
    assert len(list(read_records(PROJECT / "results" / "records"))) > 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--corpus", "absent"], 3, "absent: no such file, and no such corpus"),
        (["--layer", "1"], 2, "layer 1: expected one that this encoder has: layer 0\n"),
        (["--sentence", " "], 2, "--sentence: expected tokens separated by blanks, got none"),
        (["--sentence", "no such word"], 2, "'play' is not one of its tokens"),
        (["--word", "x"], 2, "give --sentence too"),
        (["--count", "0"], 2, "at least 1"),
        (["--vectors", "absent"], 3, "absent: no such file"),
        (["--encoder", "wordz"], 2, "did you mean 'words'?"),
        (["encoder=small"], 2, "encoder=words encoder=small: expected one of them"),
    ],
)
def test_what_does_not_fit_is_named(
    words: list[str], code: int, message: str, places: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*places, *words]) == code
    assert message in capsys.readouterr().err


def test_a_word_that_does_not_occur_is_named(places: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["neighbours", "opera", *places[2:]]) == 2
    assert "'opera' does not occur" in capsys.readouterr().err
