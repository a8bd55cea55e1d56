"""Licensed downloads in their real layout, with a few invented sentences."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from elmo_bench.catalog import read_task
from elmo_bench.cli.main import main
from elmo_bench.cli.prepare import CORPORA
from elmo_bench.data.conll2012 import read_documents
from elmo_bench.plugins import load_task
from elmo_bench.sources import joining
from elmo_bench.sources.joining import RECIPES, SECTIONS
from elmo_bench.sources.listing import read_corpora
from elmo_bench.types import SplitFiles

Output = pytest.CaptureFixture[str]
PROPS = "-\t(A0*)\nsell\t(V*)\n-\t(A1*)\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def document(name: str, parts: int = 1, word: str | None = None) -> str:
    """A document in CoNLL-2012 columns whose words are its own name."""
    rows = "".join(
        f"{name} {{part}} {index} {word or f'{name}.{index}'} NN * - - - - * (0)\n" for index in range(2)
    )
    return "".join(
        f"#begin document ({name}); part {part:03}\n{rows.format(part=part)}\n#end document\n"
        for part in range(parts)
    )


@pytest.fixture
def ontonotes(tmp_path: Path) -> Path:
    root = tmp_path / "conll-formatted-ontonotes-5.0"
    for split, names in {
        "train": ["nw/wsj/00/wsj_0002", "bc/cnn/00/cnn_0001"],
        "development": ["bc/cnn/00/cnn_0000"],
        "conll-2012-test": ["nw/wsj/23/wsj_2300"],
        "test": ["pt/nt/40/nt_4001"],
    }.items():
        for name in names:
            for language in ("english", "chinese"):
                annotations = root / "data" / split / "data" / language / "annotations"
                write(annotations / f"{name}.gold_conll", document(name, parts=2 if "bc" in name else 1))
                write(annotations / f"{name}.gold_skel", document(name, word="[WORD]"))
    return root


@pytest.fixture
def reuters(tmp_path: Path) -> Path:
    for name in ("eng.train", "eng.testa", "eng.testb"):
        text = f"-DOCSTART- -X- -X- O\n\n{name} NNP I-NP I-ORG\nwon VBD I-VP O\n\nIt PRP I-NP O\n"
        write(tmp_path / "reuters" / "ner" / name, text)
    return tmp_path / "reuters"


@pytest.fixture
def conll2005(tmp_path: Path) -> Path:
    root = tmp_path / "conll05st-release"
    stems = [f"train/{{}}/train.{number}" for number in SECTIONS]
    for stem in (*stems, "devel/{}/devel.24", "test.wsj/{}/test.wsj", "test.brown/{}/test.brown"):
        for kind, text in (("words", "Anna\nsold\nboats\n"), ("props", PROPS)):
            write(root / f"{stem.format(kind)}.{kind}.gz", text + ("\n" if "train.0" in stem else ""))
    return root


def prepare(corpus: str, source: Path, target: Path) -> int:
    return main(["prepare", corpus, str(source), f"paths.local={target}"])


def test_ontonotes_is_joined_in_the_order_of_its_paths(
    ontonotes: Path, tmp_path: Path, capsys: Output
) -> None:
    assert prepare("conll2012", ontonotes, tmp_path / "local") == 1  # far fewer than published
    joined = tmp_path / "local" / "conll2012"
    documents = {
        split: [(one.name, one.part) for one in read_documents(joined / f"{split}.english.v4_gold_conll")]
        for split in ("train", "dev", "test")
    }
    assert documents == {
        "train": [("bc/cnn/00/cnn_0001", 0), ("bc/cnn/00/cnn_0001", 1), ("nw/wsj/00/wsj_0002", 0)],
        "dev": [("bc/cnn/00/cnn_0000", 0), ("bc/cnn/00/cnn_0000", 1)],
        "test": [("nw/wsj/23/wsj_2300", 0)],  # of the shared task, not of the larger test set beside it
    }
    said = capsys.readouterr()
    assert said.out.splitlines()[0].endswith(": 2 files, 3 documents: NOT as published")
    expected = {"train": "2,802 documents, found 3", "dev": "343 documents, found 2"}
    for split, counts in {**expected, "test": "348 documents, found 1"}.items():
        assert f"{joined / split}.english.v4_gold_conll: expected {counts}\n" in said.err
    assert "the files stay written" in said.err


def test_the_release_of_the_shared_task_is_known_too(tmp_path: Path) -> None:
    for version, split in (("v4", "train"), ("v4", "development"), ("v9", "test")):
        place = tmp_path / "conll-2012" / version / "data" / split / "data/english/annotations/nw/wsj/00"
        write(place / f"wsj_0001.{version}_gold_conll", document(f"nw/wsj/{split}"))
        write(place / f"wsj_0001.{version}_auto_conll", document("automatic"))
    assert prepare("conll2012", tmp_path / "conll-2012", tmp_path / "local") == 1
    (found,) = read_documents(tmp_path / "local" / "conll2012" / "test.english.v4_gold_conll")
    assert found.name == "nw/wsj/test"


def test_a_release_without_words_is_named(ontonotes: Path, tmp_path: Path, capsys: Output) -> None:
    for path in ontonotes.rglob("*.gold_conll"):
        path.write_text(document(path.stem, word="[WORD]"))
    assert prepare("conll2012", ontonotes, tmp_path / "local") == 1
    assert "skeleton2conll.sh fills the words in from OntoNotes 5" in capsys.readouterr().err
    for path in ontonotes.rglob("*.gold_conll"):
        path.unlink()
    assert prepare("conll2012", ontonotes, tmp_path / "other") == 3
    assert "skeleton2conll.sh makes the *_gold_conll files" in capsys.readouterr().err


def test_conll2003_is_joined_and_counted(
    reuters: Path, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert prepare("conll2003", reuters, tmp_path / "local") == 1
    said = capsys.readouterr()
    assert said.out.splitlines()[0].endswith("1 files, 2 sentences, 3 tokens: NOT as published")
    train = tmp_path / "local" / "conll2003" / "train.conll"
    assert train.is_file()
    assert said.err.startswith("error: this is not CoNLL-2003, English as it is published:\n")
    assert f"{train}: expected 14,041 sentences, found 2\n" in said.err
    assert f"{train}: expected 203,621 tokens, found 3\n" in said.err
    recipe = RECIPES["conll2003"]
    small = tuple(replace(one, published={"sentences": 2, "tokens": 3}) for one in recipe.files)
    monkeypatch.setitem(joining.RECIPES, "conll2003", replace(recipe, files=small))  # type: ignore[arg-type]
    assert prepare("conll2003", reuters, tmp_path / "again") == 0
    assert capsys.readouterr().out.count("1 files, 2 sentences, 3 tokens: as published\n") == 3


def test_conll2005_is_joined_with_a_blank_line_between_sections(conll2005: Path, tmp_path: Path) -> None:
    assert prepare("conll2005", conll2005, tmp_path / "local") == 1
    joined = tmp_path / "local" / "conll2005"
    assert (joined / "train.words").read_text() == "Anna\nsold\nboats\n\n" * 20
    assert (joined / "train.props").read_text() == f"{PROPS}\n" * 20
    task = load_task(read_task("srl"))
    paths = tuple(joined / f"test.wsj.{kind}" for kind in ("words", "props"))
    (example,) = task.read(SplitFiles("test", "conll2005", paths))
    assert task.sentences(example) == {"text": (("Anna", "sold", "boats"),)}


def test_a_missing_section_is_named(conll2005: Path, tmp_path: Path, capsys: Output) -> None:
    (conll2005 / "train" / "words" / "train.13.words.gz").unlink()
    assert prepare("conll2005", conll2005, tmp_path / "local") == 3
    assert "train.13.words*: no such file; the shared task's release" in capsys.readouterr().err
    assert not (tmp_path / "local").exists()


def test_two_releases_at_once_and_files_that_are_there_are_refused(
    reuters: Path, tmp_path: Path, capsys: Output
) -> None:
    assert prepare("conll2003", reuters, tmp_path / "local") == 1
    changed = tmp_path / "local" / "conll2003" / "dev.conll"
    changed.write_text("y NN I-NP O\n")
    assert prepare("conll2003", reuters, tmp_path / "local") == 2
    assert f"{changed}: it is there already with other content; move it away" in capsys.readouterr().err
    assert changed.read_text() == "y NN I-NP O\n"
    write(reuters / "copy" / "eng.testa", "x NN I-NP O\n")
    assert prepare("conll2003", reuters, tmp_path / "other") == 2
    assert "expected one file **/eng.testa, got " in capsys.readouterr().err
    assert prepare("conll2003", tmp_path / "nowhere", tmp_path / "other") == 3


def test_a_command_that_was_killed_between_two_files_goes_on(reuters: Path, tmp_path: Path) -> None:
    assert prepare("conll2003", reuters, tmp_path / "local") == 1  # the counts are not the published ones
    content = {path: path.read_bytes() for path in (tmp_path / "local").rglob("*.conll")}
    (tmp_path / "local" / "conll2003" / "dev.conll").unlink()
    assert prepare("conll2003", reuters, tmp_path / "local") == 1
    assert {path: path.read_bytes() for path in (tmp_path / "local").rglob("*.conll")} == content


def test_every_file_is_one_that_a_task_reads() -> None:
    assert set(CORPORA) == set(RECIPES)
    read = {
        path
        for task in ("ner", "srl", "coref", "pos")
        for corpus in read_corpora(read_task(task), "paper")[1].values()
        for split in (corpus.train, corpus.dev, corpus.test)
        for path in ([split] if isinstance(split, str) else split or [])
    }
    assert {joined.path for recipe in RECIPES.values() for joined in recipe.files} <= read
