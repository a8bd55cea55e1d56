"""A damaged record is never shown: it is named, and the report shows all others."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.cli.main import main
from elmo_bench.hashing import SEAL, hash_file, seal_text
from elmo_bench.records import (
    WEIGHTS,
    NeighboursRecord,
    PerplexityRecord,
    PretrainingRecord,
    Record,
    condition_of,
    read_content,
    read_counts,
    read_record,
    read_record_of,
    write_record,
)
from elmo_bench.report.published import read_published
from elmo_bench.types import DamagedFileError
from tests.conftest import PROJECT
from tests.support.damage import CONTENT, Damage, become_dangling, become_directory, become_pipe
from tests.support.report_records import ELMO, NONE, make_record, publish

PUBLISHED = PROJECT / "results" / "records"
KINDS = {
    "ner": Record,
    "neighbours": NeighboursRecord,
    "perplexity": PerplexityRecord,
    "pretraining": PretrainingRecord,
}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"config": {"task": 3}}, "config.task: "),
        ({"config": {"task": {"settings": [1]}}}, "config.task.settings: "),
        ({"config": {"data": 2}}, "config.data: "),
        ({"identity": {"words": "none"}}, "identity.words: "),
        ({"identity": {"words": {}}}, "identity.words.kind is missing"),
    ],
)
def test_a_stranger_s_record_of_another_shape_is_refused_by_compare(
    tmp_path: Path, changes: dict[str, Any], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result.json"
    write_record(path, make_record("ner", 1, 20, NONE, **changes))
    assert main(["compare", str(path), str(path)]) == 1
    assert f"error: {path}: not a record of a run: {reason}" in capsys.readouterr().err


def test_a_record_without_a_configuration_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_record(path, make_record("ner", 1, 20, NONE, config={}))
    assert main(["compare", str(path), str(path)]) == 0


def test_a_record_without_a_configuration_is_not_restored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = tmp_path / WEIGHTS
    weights.write_bytes(b"")
    hashes = {WEIGHTS: hash_file(weights)}
    write_record(tmp_path / "result.json", make_record("ner", 1, 20, NONE, config={}, hashes=hashes))
    assert main(["predict", str(tmp_path), "new.conll"]) == 2
    assert "error: the run's config.task: a value is needed" in capsys.readouterr().err


def test_every_published_record_is_sealed_and_none_is_broken() -> None:
    unsealed = [path for path in PUBLISHED.rglob("*.json") if SEAL not in read_content(path)]
    assert unsealed == []
    assert read_published(PUBLISHED).broken == ()


def test_a_seal_is_all_that_sealing_has_added() -> None:
    """Each file is, byte for byte, what it is without its last value, and that value sealed again."""
    for path in PUBLISHED.rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        before, _, seal = text.rpartition(f',\n "{SEAL}": ')
        assert len(json.loads(seal.partition("\n")[0])) == 64, path
        assert seal_text(f"{before}\n}}\n") == text, path


SEALING = "42c4846d03488f0e0de9deb9ab48176f544e5b99"  # the commit that sealed what was published before


def published_at(commit: str) -> dict[str, bytes]:
    """The published records of a commit."""
    archive = subprocess.run(
        ["git", "archive", commit, "results/records"], cwd=PROJECT, capture_output=True, check=False
    )
    if archive.returncode:
        pytest.skip("needs the history of the repository")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        members = [member for member in files if member.name.endswith(".json")]
        return {member.name: opened.read() for member in members if (opened := files.extractfile(member))}


def test_sealing_changed_no_value_of_a_published_record() -> None:
    before, after = published_at(f"{SEALING}^"), published_at(SEALING)
    assert len(before) > 200
    assert after == {name: seal_text(content.decode()).encode() for name, content in before.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_no_changed_character_of_a_published_record_goes_unnoticed(kind: str, tmp_path: Path) -> None:
    original = next((PUBLISHED / kind).glob("*.json"))
    content, text = read_content(original), original.read_bytes()
    path = tmp_path / original.name
    noticed = 0
    for position in range(0, len(text), 1 + len(text) // 300):
        path.write_bytes(text[:position] + bytes([text[position] ^ 1]) + text[position + 1 :])
        try:
            # A blank may become another blank, and the last digits of a number may mean the same number.
            assert read_record_of(KINDS[kind], path) and read_content(path) == content  # type: ignore[type-var]
        except DamagedFileError as error:
            assert str(path) in str(error)
            noticed += 1
    assert noticed > 150


def rewrite(change: Callable[[dict[str, Any]], None], sealed: bool) -> Damage:
    """Damage to one value of a record, with or without the seal that tells of it."""

    def damage(path: Path) -> None:
        content = json.loads(path.read_bytes())
        if not sealed:
            del content[SEAL]
        change(content)
        path.write_text(json.dumps(content))

    return damage


def nest(path: Path) -> None:
    path.write_text('{"kind": "run", "identity": ' + "[" * 100_000 + "]" * 100_000 + "}")


SHAPES: dict[str, tuple[tuple[str, ...], Any]] = {
    "identity": (("identity", "task"), []),
    "settings": (("config", "task"), {"settings": 3}),
    "size": (("config", "size_fraction"), {}),
    "numerics": (("identity", "numerics"), "x"),
    "mix": (("learnt",), {"input": {"weights": "abc"}}),
    "environment": (("environment", "commit"), [1]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_stranger_s_record_of_another_shape_is_named(name: str, tmp_path: Path) -> None:
    """It is sealed and its condition is right: only what a report would do with it is not possible."""
    (*outer, last), value = SHAPES[name]
    victim, other = publish_two(tmp_path)
    content = read_content(victim)
    part = content
    for key in outer:
        part = part[key]
    part[last] = value
    content["condition"] = condition_of(content["identity"])
    del content[SEAL]
    write_record(victim, Record.model_validate(content))
    published = read_published(tmp_path)
    assert [run.counts.stem for run in published.runs] == [other.stem]
    (problem,) = published.broken
    assert f"ner/{victim.name} is not shown: {'.'.join([*outer, last])}" in problem


@pytest.mark.parametrize("task", ["../elsewhere", "/elsewhere", "..", ""])
def test_the_task_of_a_stranger_s_record_leads_to_no_other_directory(task: str, tmp_path: Path) -> None:
    """`publish` writes into a directory of this name."""
    victim, _ = publish_two(tmp_path)
    content = {key: value for key, value in read_content(victim).items() if key != SEAL}
    victim.write_text(seal_text(json.dumps({**content, "task": task})))
    with pytest.raises(DamagedFileError, match=r"1 fields do not fit"):
        read_record(victim)


VALUES: dict[str, Callable[[dict[str, Any]], None]] = {
    "seed": lambda content: content.update(seed=content["seed"] + 1),
    "condition": lambda content: content.update(condition="0123456789ab"),
    "identity": lambda content: content["identity"]["elmo"].update(where="output"),
    "score": lambda content: content["scores"]["test"].update(accuracy=float("nan")),
}
DAMAGE: dict[str, Damage] = {
    **{damage.__name__: damage for damage in (*CONTENT, become_directory, become_dangling, become_pipe)},
    **{f"sealed {name}": rewrite(change, True) for name, change in VALUES.items()},
    **{f"older {name}": rewrite(change, False) for name, change in VALUES.items()},
    "nested": nest,
    "utf-16": lambda path: path.write_text(path.read_text(), encoding="utf-16"),
    "latin-1": lambda path: path.write_bytes(b'{"kind": "run", "task": "\xe9"}'),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_record_is_named_and_the_others_are_read(name: str, tmp_path: Path) -> None:
    victim, other = publish_two(tmp_path)
    DAMAGE[name](victim)
    published = read_published(tmp_path)
    assert [run.counts.stem for run in published.runs] == [other.stem]
    (problem,) = published.broken
    assert published.problems == (problem,)
    assert problem.startswith(f"ner/{victim.name} is not shown: {victim}: ")


def test_report_and_findings_go_on_without_damaged_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim, _ = publish_two(tmp_path / "records")
    for number, damage in enumerate(DAMAGE.values()):
        damage(Path(shutil.copy(victim, victim.with_name(f"{number}.json"))))
    problems = read_published(tmp_path / "records").broken
    assert len(problems) == len(DAMAGE)
    places = [f"paths.records={tmp_path / 'records'}", f"paths.cache={tmp_path}"]
    assert main(["report", *places, "--output", str(tmp_path), "--resamples", "100"]) == 0
    output = capsys.readouterr().out
    assert all(f"warning: {problem}" in output for problem in problems)
    assert main(["findings", *places]) == 1
    errors = capsys.readouterr().err
    assert all(problem in errors for problem in problems)


def publish_two(records: Path) -> tuple[Path, Path]:
    """The files of a run and its baseline."""
    config = {"task": {"name": "ner"}, "size_fraction": 1.0, "seed": 1}
    for elmo in (NONE, ELMO):
        publish(records, make_record("ner", 1, 20, elmo, config=config), 20)
    first, second = sorted((records / "ner").glob("*.json"))
    return first, second


def test_an_older_record_is_checked_by_its_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original = next((PUBLISHED / "ner").glob("*.json"))
    records = tmp_path / "records" / "ner"
    records.mkdir(parents=True)
    for path in (original, original.with_suffix(".npz")):
        shutil.copy(path, records)
    record = read_record(original)
    rewrite(lambda content: content["scores"]["test"].update(f1=99.5), sealed=False)(records / original.name)
    assert record.scores["test"]["f1"] != 99.5
    arguments = ["report", f"paths.records={tmp_path / 'records'}", "--output", str(tmp_path)]
    assert main([*arguments, "--resamples", "100"]) == 0
    assert "its counts do not make the score of its record" in capsys.readouterr().out


def test_counts_that_are_something_else_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "counts.npz"
    for content in (b"", b"PK\x03\x04 and no more", b"cos\nsystem\n(S'true'\ntR.", b"\x93NUMPY\x01\x00v\x00"):
        path.write_bytes(content)
        with pytest.raises(DamagedFileError, match=r"counts\.npz: not a file of counts"):
            read_counts(path)


def test_a_loss_that_is_not_a_number_comes_back_from_its_file(tmp_path: Path) -> None:
    curve = [{"epoch": 1.0, "loss": float("nan"), "dev": 3.0}, {"epoch": 2.0, "loss": 0.5, "dev": 4.0}]
    write_record(tmp_path / "result.json", make_record("ner", 1, 20, NONE, curve=curve))
    assert str(read_record(tmp_path / "result.json").curve) == str(curve)
