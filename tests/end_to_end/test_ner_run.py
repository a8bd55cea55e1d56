"""The main command, from nothing to a published record, on a world of its own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from elmo_bench.plugins import load_task
from elmo_bench.records import read_counts, read_record
from tests.support.composition import run_config
from tests.support.processes import finish, finish_python, places, slow_imports
from tests.support.scenarios import bring_vectors
from tests.support.tiny_transformers import save_tiny

TINY = (
    "bilm@encoder.bilm=tiny",
    "limit=30",
    "task.training.epochs=3",
    "task.training.patience=3",
    "task.training.evaluate_every=null",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("end_to_end")


def only(paths: list[Path]) -> Path:
    (path,) = paths
    return path


def test_a_first_run_makes_all_it_needs_and_a_second_reads_it(root: Path) -> None:
    code, output, errors = finish_python("task=ner", "elmo.lambda=0.001", *TINY, *places(root))
    assert code == 0, errors
    assert "writing the generated world" in output
    assert "layer weights" in output
    assert "gamma" in output
    record = read_record(only(list((root / "runs").glob("ner/*/result.json"))))
    assert record.debug
    assert len(record.curve) == 3
    assert record.curve[-1]["loss"] < record.curve[0]["loss"]
    assert record.identity["elmo"]["lambda"] == 0.001
    assert sum(record.learnt["input"]["weights"]) == pytest.approx(1)
    assert record.examples == {"train": 30, "dev": 30, "test": 30}

    code, output, errors = finish("task=ner", "elmo.lambda=0.5", *TINY, *places(root))
    assert code == 0, errors
    assert "writing" not in output + errors
    assert "store:" not in output + errors  # nothing is encoded twice


def test_a_finished_run_is_recognised_without_slow_imports(root: Path) -> None:
    command = ("run", "task=ner", "elmo.lambda=0.001", *TINY, *places(root))
    output, imported = slow_imports(command, (*command, "plan=true"))
    assert output.startswith("already done")
    assert "1 runs: 1 done, 0 missing" in output
    assert imported == []


@pytest.mark.parametrize("encoder", ["words", "cove", "transformer", "untrained transformer"])
def test_a_finished_run_with_another_encoder_is_recognised_without_slow_imports(
    encoder: str, root: Path, tmp_path: Path
) -> None:
    bring_vectors(tmp_path)
    model = f"encoder.model={save_tiny(tmp_path / 'bert', 'bert')}"
    vectors = tmp_path / "vectors.txt"
    chosen = {
        "words": ["encoder=words", f"encoder.file={vectors}"],
        "cove": ["encoder=cove", f"encoder.weights={tmp_path / 'cove.pth'}", f"encoder.vectors={vectors}"],
        "transformer": ["encoder=transformer", model],
        "untrained transformer": ["encoder=transformer", model, "encoder.untrained=true"],
    }[encoder]
    command = ["task=ner", *chosen, *TINY[1:], *places(root, runs=tmp_path)]
    code, _, errors = finish(*command)
    assert code == 0, errors
    output, imported = slow_imports(["run", *command])
    assert output.startswith("already done")
    assert imported == []


def test_the_record_scores_what_its_counts_say(root: Path) -> None:
    for result in (root / "runs").glob("ner/*/result.json"):
        record = read_record(result)
        task = load_task(run_config("task=ner").task)
        for split, counts in read_counts(result.with_name("counts.npz")).items():
            assert task.score(list(counts.rows())) == record.scores[split]


def test_what_was_tried_out_is_not_published(root: Path) -> None:
    folders = [*places(root), f"paths.models={root / 'models'}"]
    code, output, errors = finish("elmo_bench", "publish", *folders, script="-m")
    assert code == 0, errors
    assert "0 new, 0 there already, 2 left out: trial run" in output
    assert not (root / "records").exists()


def test_a_sweep_goes_on_past_a_failing_job_and_says_which(root: Path) -> None:
    code, output, errors = finish(
        "-m", "task=ner", "elmo=none", "task.settings.head.dropout=0.1,7", *TINY, *places(root)
    )
    assert code == 1
    assert "1 of 2 jobs done" in output
    assert "failed: task=ner elmo=none task.settings.head.dropout=7" in output
    assert "task.settings.head.dropout: input should be less than 1" in errors


def test_force_keeps_the_earlier_run(root: Path) -> None:
    command = ("task=ner", "elmo=none", "task.settings.head.dropout=0.1", *TINY, *places(root))
    code, output, errors = finish(*command)
    assert code == 0, errors
    (printed,) = re.findall(r"(\S+)/result\.json", output)
    (Path(printed) / "checkpoints").mkdir()  # of a process that was killed right after the record
    code, output, errors = finish(*command, "force=true")
    assert code == 0, errors
    assert "the earlier run is kept as" in output
    kept = only(list((root / "runs").glob("ner/*.1/result.json")))
    assert not (kept.parent / "checkpoints").exists()
    first, second = (
        json.loads(kept.read_text()),
        json.loads((kept.parent.with_suffix("") / "result.json").read_text()),
    )
    assert first["scores"] == second["scores"]
    assert first["hashes"] == second["hashes"]


def test_settings_are_chosen_without_opening_the_test_data(tmp_path: Path) -> None:
    """evaluate.splits=dev on files of one's own: the test file need not even be there."""
    sentences = "".join(f"Ann{i} B-PER\nsings O\n\n" for i in range(6))
    for split in ("train", "dev"):
        (tmp_path / f"{split}.conll").write_text(sentences)
    own = [f"data.{split}={tmp_path / split}.conll" for split in ("train", "dev", "test")]
    command = (
        "task=ner", "data=files", *own, "words=random", "elmo=none", "size=ner_sample",
        "task.training.epochs=2", "trainer.threads=1", *places(tmp_path),
    )  # fmt: skip
    code, _, errors = finish(*command)
    assert code == 3 and "test.conll: no such file" in errors
    code, _, errors = finish(*command, "evaluate.splits=dev")
    assert code == 0, errors
    (result,) = tmp_path.glob("runs/ner/*/result.json")
    record = read_record(result)
    assert set(record.scores) == set(record.examples) - {"train"} == {"dev"}
    assert set(record.identity["data_sha256"]) == {"train", "dev"}
    assert not (result.parent / "predictions-test.jsonl").exists()
    assert record.unpublishable == "without test scores (evaluate.splits=dev)"
    assert record.config["evaluate"]["splits"] == "dev"

    code, output, errors = finish("-m", *command, "seed=1,2", "evaluate.splits=dev")
    assert code == 0, errors
    assert re.search(r"without ELMo +dev .* n=2", output)  # the sweep is summed up by dev
