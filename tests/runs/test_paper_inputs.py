"""data=paper reads the word vectors and the biLM of the paper, says how to get them, names substitutes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from elmo_bench.cli.main import main
from elmo_bench.hashing import hash_file
from elmo_bench.runs.check import find_substitutes
from elmo_bench.runs.preparation import hash_words
from elmo_bench.types import DataMissingError
from tests.support.composition import TASKS, run_config

GLOVE = "glove.6B.100d.merged.100k.txt.gz"
PAPER = {
    "squad": ["glove.840B.300d.txt"],
    "snli": ["glove.840B.300d.txt"],
    "sst5": ["glove.840B.300d.txt"],
    "srl": ["glove.6B.100d.txt"],
    "ner": ["senna.50d.txt"],
    "coref": ["glove.840B.300d.txt", "turian.50d.txt"],
    "wsd": [],  # probes read the encoder alone
    "pos": [],
}


@pytest.mark.parametrize("task", TASKS)
def test_the_papers_corpora_come_with_its_vectors_and_its_encoder(task: str) -> None:
    config = run_config(f"task={task}", "data=paper")
    assert [file.name for file in config.words.files] == PAPER[task]
    assert config.encoder.full_name == "original"
    assert config.size == "paper"
    assert all(config.words.get[name] for name in PAPER[task])


@pytest.mark.parametrize(("data", "encoder"), [("open", "small"), ("sample", "sample")])
@pytest.mark.parametrize("task", TASKS)
def test_other_sources_read_what_they_read_before(task: str, data: str, encoder: str) -> None:
    config = run_config(f"task={task}", f"data={data}")
    assert config.encoder.full_name == encoder
    has_file = PAPER[task] and data == "open"
    assert [file.name for file in config.words.files] == ([GLOVE] if has_file else [])


@pytest.mark.parametrize(
    ("task", "present", "missing"),
    [
        ("ner", (), r"senna\.50d\.txt: no such file \(words\.file\)\. To get it: unpack senna-v3\.0\.tgz"),
        (
            "srl",
            (),
            r"glove\.6B\.100d\.txt: .* To get it: unpack https://nlp\.stanford\.edu/data/glove\.6B\.zip",
        ),
        (
            "coref",
            ("glove.840B.300d.txt",),
            r"turian\.50d\.txt: no such file \(words\.beside\)\. To get it: fetch https://lil\.cs\.washington\.edu",
        ),
    ],
)
def test_a_missing_file_says_how_to_get_it(
    task: str, present: tuple[str, ...], missing: str, tmp_path: Path
) -> None:
    for name in present:
        (tmp_path / name).write_text("a 1\n")
    with pytest.raises(DataMissingError, match=missing):
        hash_words(run_config(f"task={task}", "data=paper", f"paths.vectors={tmp_path}"))


@pytest.mark.parametrize("choices", [("data=paper",), ("data=open",), ("data=open", "words=glove")])
def test_the_advice_for_a_missing_file_is_accepted(choices: tuple[str, ...], tmp_path: Path) -> None:
    words = ("task=ner", *choices, f"paths.vectors={tmp_path}")
    with pytest.raises(DataMissingError) as caught:
        hash_words(run_config(*words))
    advice = re.search(r"(words\.file=FILE.*?); or choose (words=random)", str(caught.value))
    assert advice
    own = tmp_path / "own.txt"
    own.write_text("a 1\n")
    assert hash_words(run_config(*words, *advice[1].replace("FILE", str(own)).split())) == hash_file(own)
    replaced = [word for word in words if not word.startswith("words=")]
    assert hash_words(run_config(*replaced, advice[2])) is None


def test_two_files_of_vectors_are_known_by_the_content_of_both(tmp_path: Path) -> None:
    first, second = tmp_path / "glove.840B.300d.txt", tmp_path / "turian.50d.txt"
    first.write_text("a 1 2\n")
    second.write_text("a 3\n")
    choices = ("task=coref", "data=paper", f"paths.vectors={tmp_path}")
    both = hash_words(run_config(*choices))
    assert hash_words(run_config(*choices, "words.beside=null")) == hash_file(first) != both
    second.write_text("a 4\n")
    assert hash_words(run_config(*choices)) != both


def test_what_stands_for_an_input_of_the_paper_is_named() -> None:
    paper = run_config("task=ner", "data=paper")
    assert find_substitutes(paper, paper) == []
    other = run_config("task=ner", "data=paper", "encoder=small", "words=glove")
    assert find_substitutes(other, paper) == [
        "encoder=small replaces the paper's original",
        f"the word vectors {GLOVE} replace the paper's senna.50d.txt",
    ]
    joined, alone = (run_config("task=coref", "data=paper", *more) for more in ((), ("words.beside=null",)))
    assert find_substitutes(alone, joined) == [
        "the word vectors glove.840B.300d.txt replace the paper's glove.840B.300d.txt and turian.50d.txt"
    ]
    # conditions of an experiment, not substitutes
    for condition in (["elmo=none", "encoder=small"], ["words=none"], ["encoder.untrained=true"]):
        assert find_substitutes(run_config("task=ner", "data=paper", *condition), paper) == []


def test_validate_warns_of_substitutes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    own = (f"paths.local={tmp_path}", f"paths.cache={tmp_path}", f"paths.models={tmp_path}")
    assert main(["validate", "task=coref", "data=paper", "words=glove", *own]) == 3
    printed = capsys.readouterr().out
    assert f"warning  the word vectors {GLOVE} replace the paper's glove.840B.300d.txt and turian" in printed
    assert "To get it: fetch elmo_2x4096_512_2048cnn_2xhighway_options.json" in printed
    assert main(["validate", "task=coref", "data=open", "words=random", *own, f"paths.data={tmp_path}"]) == 3
    assert "warning" not in capsys.readouterr().out
