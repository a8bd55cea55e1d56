"""Several encoders in one table: what dev chooses, what a gain is over, and the cost beside it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.records import EncoderFacts
from elmo_bench.report.convergence import SIGN
from elmo_bench.report.formats import write_csv
from elmo_bench.report.inputs import TRAINED
from elmo_bench.report.model import Section
from tests.report.test_report import build, opening_gains, table
from tests.support.report_records import DEFAULTS, ELMO, NONE, make_record, publish

WORDS, A, B = "1" * 64, "a" * 64, "b" * 64
OPTIMISER = {"name": "adam", "lr": 0.001}
PROBE = {"config": {"task": {"name": "pos", "elmo": {**DEFAULTS, "layers": 1}}, "size_fraction": 1.0}}
NO_WORDS = {"words": {"kind": "none"}}


def identity(fingerprint: str | None, rate: float = 0.001, task: str = "ner", **more: Any) -> dict[str, Any]:
    training = {"optimiser": {**OPTIMISER, "lr": rate}}
    return {"encoder_fingerprint": fingerprint, "task": {"name": task, "training": training}, **more}


def facts(parameters: int, tokens: int) -> dict[str, Any]:
    speed = {"tokens": tokens, "seconds": 2.0, "device": "cpu", "threads": 1, "processor": "a processor"}
    sizes = {"layers": 3, "dim": 4, "parameters": parameters, "token_bytes": 24}
    return {**sizes, "speed": speed if tokens else None}


def publish_ner(
    directory: Path, right: int, encoder: str, fingerprint: str, rate: float, **more: Any
) -> None:
    for seed in (1, 2, 3):
        made = make_record("ner", seed, right, ELMO, identity=identity(fingerprint, rate), encoder=encoder)
        publish(directory, made.model_copy(update=more), right)


def publish_baseline(directory: Path, right: int, rate: float = 0.001) -> None:
    for seed in (1, 2, 3):
        publish(directory, make_record("ner", seed, right, NONE, identity=identity(None, rate)), right)


def section(directory: Path, name: str = "encoders") -> Section:
    return next(one for one in build(directory).sections if one.name == name)


def rows(found: Section, table: int = 0) -> dict[str, dict[str, str]]:
    """The cells of a table by its first column and the title of the column."""
    shown = found.tables[table]
    return {
        row[0].text: {title: cell.text for title, cell in zip(shown.columns, row, strict=True)}
        for row in shown.rows
    }


def test_every_encoder_has_a_row_with_its_gain_over_the_baseline(tmp_path: Path) -> None:
    publish_baseline(tmp_path, 20)
    publish_ner(tmp_path, 24, "words", WORDS, 0.001)
    publish_ner(tmp_path, 30, "small", A, 0.001)
    found = rows(section(tmp_path))
    assert list(found) == ["none", "small", "words"]
    assert found["none"]["NER (world)"] == "50.00 ± 0.00; n = 3"
    assert found["words"]["NER (world)"].startswith("+10.00; [")
    assert found["words"]["NER (world)"].endswith("]; 60.00 ± 0.00; n = 3")
    assert found["small"]["NER (world)"].startswith("+25.00; [")


def test_a_gain_is_over_the_seeds_that_the_baseline_has(tmp_path: Path) -> None:
    for seed in (1, 2):
        publish(tmp_path, make_record("ner", seed, 20, NONE, identity=identity(None)), 20)
    capped = make_record("ner", 9, 20, NONE, identity=identity(None), stopped="cap")
    publish(tmp_path, capped, 20)
    for seed, right in ((1, 30), (2, 30), (3, 36)):
        publish(tmp_path, make_record("ner", seed, right, ELMO, identity=identity(A), encoder="small"), right)
    found = section(tmp_path)
    cell = next(row[-1] for row in found.tables[0].rows if row[0].text == "small")
    gain, interval, *others = cell.printed
    assert gain == "+25.00"
    assert interval.endswith("] (examples)")
    assert others == ["over 2 of 3 seeds", "80.00 ± 8.66", "n = 3"]
    (group,) = opening_gains(build(tmp_path)).groups
    for names in (cell.runs, group.gains[0].runs):
        assert [name.rpartition("-s")[2] for name in names] == ["1", "2", "1", "2"]
    detail = next(row for row in found.tables[1].rows if row[1].text == "small")
    assert detail[4].lines[-1] == "over 2 of 3 seeds"


def test_two_encoders_of_one_name_are_two_different_rows(tmp_path: Path) -> None:
    publish_baseline(tmp_path, 20)
    for fingerprint in (A, B):
        publish_ner(tmp_path, 30, "model A", fingerprint, 0.001)
    found = section(tmp_path)
    assert list(rows(found)) == ["none", "model A aaaaaa", "model A bbbbbb"]
    (group,) = opening_gains(build(tmp_path)).groups
    assert [gain.encoder for gain in group.gains][:2] == ["model A aaaaaa", "model A bbbbbb"]


def test_dev_chooses_the_rate_of_every_row_and_test_does_not(tmp_path: Path) -> None:
    publish_baseline(tmp_path, 20, 0.001)
    publish_baseline(tmp_path, 22, 0.003)
    publish_ner(tmp_path, 30, "small", A, 0.001)
    # A rate that is better on test and worse on dev.
    scores = {"dev": {"accuracy": 40.0}, "test": {"accuracy": 90.0}}
    publish_ner(tmp_path, 36, "small", A, 0.003, scores=scores)
    found = rows(section(tmp_path))
    assert found["none"]["NER (world)"] == "55.00 ± 0.00; n = 3; rate 0.003"
    assert found["small"]["NER (world)"].startswith("+20.00; [")
    assert found["small"]["NER (world)"].endswith("n = 3; rate 0.001")


def test_dev_chooses_the_layer_of_a_probe_whose_baseline_has_word_vectors(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        for words, right in (({"words": {"kind": "random", "dim": 50}}, 20), (NO_WORDS, 5)):
            made = make_record(
                "pos", seed, right, NONE, identity=identity(None, task="pos", **words), **PROBE
            )
            publish(tmp_path, made, right)
        for layer, right in ((0, 24), (2, 30)):
            own = identity(A, task="pos", **NO_WORDS)
            made = make_record("pos", seed, right, {**ELMO, "layers": layer}, identity=own, **PROBE)
            publish(tmp_path, made, right)
    found = rows(section(tmp_path))
    assert found["none"]["POS probe (world)"] == "50.00 ± 0.00; n = 3"
    assert found["sample"]["POS probe (world)"].startswith("+25.00")
    assert found["sample"]["POS probe (world)"].endswith("layer 2")


def test_dev_chooses_whether_layers_are_normalised(tmp_path: Path) -> None:
    publish_baseline(tmp_path, 20)
    publish_ner(tmp_path, 24, "small", A, 0.001)
    for seed in (1, 2, 3):
        norm = {**ELMO, "layer_norm": True}
        publish(tmp_path, make_record("ner", seed, 30, norm, identity=identity(A), encoder="small"), 30)
    cell = rows(section(tmp_path))["small"]["NER (world)"]
    assert cell.startswith("+25.00")
    assert cell.endswith("n = 3; layer norm")


def test_runs_with_elmo_elsewhere_are_no_choice_of_dev(tmp_path: Path) -> None:
    publish_baseline(tmp_path, 20)
    publish_ner(tmp_path, 24, "small", A, 0.001)
    for seed in (1, 2, 3):
        both = make_record("ner", seed, 39, {**ELMO, "where": "both"}, identity=identity(A), encoder="small")
        publish(tmp_path, both, 39)
    assert rows(section(tmp_path))["small"]["NER (world)"].startswith("+10.00")


def test_the_cost_is_measured_or_empty(tmp_path: Path) -> None:
    publish_baseline(tmp_path, 20)
    publish_ner(tmp_path, 30, "small", A, 0.001, encoder_facts=None)
    known = make_record(
        "ner", 4, 30, ELMO, identity=identity(B), encoder="big", encoder_facts=facts(1000, 500)
    )
    publish(tmp_path, known, 30)
    unmeasured = facts(10, 0)
    other = make_record("ner", 4, 30, ELMO, identity=identity(WORDS), encoder="w", encoder_facts=unmeasured)
    publish(tmp_path, other, 30)
    found = section(tmp_path)
    cost = {name: [row[key] for key in list(row)[1:5]] for name, row in rows(found).items()}
    assert cost["small"] == ["–", "–", "–", "–"]
    assert cost["w"] == ["10", "3 x 4", "24", "–"]
    assert cost["big"] == ["1,000", "3 x 4", "24", "250"]
    notes = found.tables[0].notes
    assert "Speed measured with cpu, a processor, 1 thread: big on 500 tokens." in notes


def test_the_opening_gains_have_intervals_and_the_papers_gain_beside_them(tmp_path: Path) -> None:
    publish_baseline(tmp_path, 20)
    publish_ner(tmp_path, 30, "big", B, 0.001)
    forest = opening_gains(build(tmp_path))
    (group,) = forest.groups
    ours, theirs = group.gains
    assert (group.task, group.corpus, ours.encoder, ours.value, ours.count) == (
        "NER",
        "world",
        "big",
        25.0,
        3,
    )
    assert ours.interval and ours.interval[0] < 25 < ours.interval[1]
    assert (theirs.is_paper, theirs.value, theirs.interval) == (True, 2.06, None)
    assert forest.axis.low <= 0 and forest.axis.high >= ours.interval[1]


def test_the_csv_has_the_encoders_of_the_overview_as_systems_and_every_cost(tmp_path: Path) -> None:
    publish_baseline(tmp_path, 20)
    publish_ner(tmp_path, 30, "big", B, 0.001, encoder_facts=EncoderFacts.model_validate(facts(5000, 60)))
    lines = csv.DictReader(io.StringIO(write_csv(build(tmp_path))))
    found = {
        (line["task"], line["system"], line["column"]): line["value"]
        for line in lines
        if line["table"] == "encoders"
    }
    assert found["", "big", "Parameters"] == "5000"
    assert float(found["", "big", "NER (world)"]) == 25.0


def test_a_gain_from_labels_that_the_encoder_has_seen_is_marked_wherever_it_stands(tmp_path: Path) -> None:
    seen = "transformer minilm_l6"
    for seed in (1, 2, 3):
        for encoder, fingerprint in ((None, None), ("small", A), (seen, B)):
            for task in ("snli", "ner"):
                own = identity(fingerprint, task=task)
                elmo = ELMO if encoder else NONE
                publish(tmp_path, make_record(task, seed, 30, elmo, identity=own, encoder=encoder), 30)
    found = section(tmp_path)
    overview = {
        (name, column)
        for name, cells in rows(found).items()
        for column, cell in cells.items()
        if TRAINED in cell
    }
    assert overview == {(seen, "SNLI (world)")}
    details = [row for row in found.tables[1].rows if any(TRAINED in cell.text for cell in row)]
    assert [(row[0].text, row[1].text) for row in details] == [("SNLI; world", seen)]
    for name in ("table1", "table8"):
        own = table(build(tmp_path), name, "minilm")
        assert [cell.marks for cells in own.rows for cell in cells if TRAINED in cell.text] == [(TRAINED,)]
    groups = opening_gains(build(tmp_path)).groups
    drawn = {(group.task, gain.encoder): gain.marks for group in groups for gain in group.gains if gain.marks}
    assert drawn == {("SNLI", seen): (TRAINED,)}


def test_a_missing_cell_names_its_command(tmp_path: Path) -> None:
    publish_baseline(tmp_path, 20)
    publish_ner(tmp_path, 30, "small", A, 0.001)
    for seed in (1, 2, 3):
        own = identity(B, task="srl")
        publish(tmp_path, make_record("srl", seed, 30, ELMO, identity=own, encoder="other"), 30)
    commands = section(tmp_path).tables[0].commands
    assert "python run.py -m +experiment=encoders_sample task=ner data=sample encoder=other" in commands
    assert "python run.py -m +experiment=encoders_sample task=srl data=sample" in commands


@pytest.fixture
def layered(tmp_path: Path) -> Path:
    for seed in (1, 2, 3):
        for layer, right in ((0, 20), (1, 30), (2, 25)):
            made = make_record("ner", seed, right, {**ELMO, "layers": layer}, identity=identity(A))
            publish(tmp_path, made.model_copy(update={"learnt": {"input": {"weights": [1.0]}}}), right)
        publish(tmp_path, make_record("ner", seed, 32, ELMO, identity=identity(A)), 32)
    return tmp_path


def test_every_layer_has_a_row_with_its_weight_in_the_mix(layered: Path) -> None:
    found = section(layered, "layers")
    shown = [[cell.text for cell in row][2:] for row in found.tables[0].rows]
    assert shown == [
        ["0", "50.00 ± 0.00; n = 3", "0.20 ± 0.00", "–"],
        ["1", "75.00 ± 0.00; n = 3", "0.50 ± 0.00", "–"],
        ["2", "62.50 ± 0.00; n = 3", "0.30 ± 0.00", "–"],
        ["mix", "80.00 ± 0.00; n = 3", "–", "–"],
    ]


def test_the_layers_are_drawn_with_the_weights_of_the_mix(layered: Path) -> None:
    curves, weights = section(layered, "layers").figures
    assert curves.svg.count("<circle") == 3
    assert curves.svg.count('class="line') == 3  # their legend, the layers, and the height of the mix
    assert [f">{value:.2f}<" in weights.svg for value in (0.2, 0.5, 0.3)] == [True] * 3


def test_a_mix_at_its_cap_is_marked_over_its_weights(layered: Path) -> None:
    publish(layered, make_record("ner", 1, 32, ELMO, identity=identity(A), stopped="cap"), 32)
    weights = section(layered, "layers").figures[1]
    assert f">sample {SIGN}<" in weights.svg
    assert "met its cap" in weights.caption


def test_a_head_that_is_fitted_in_one_pass_has_no_weights(tmp_path: Path) -> None:
    for layers, right in ((0, 20), (1, 30), ("all", 25)):
        own = identity(A, task="wsd")
        made = make_record("wsd", 1, right, {**ELMO, "layers": layers}, identity=own, stopped="one pass")
        publish(tmp_path, made.model_copy(update={"learnt": {"input": {"weights": [0.5, 0.5]}}}), right)
    found = section(tmp_path, "layers")
    assert [row[4].text for row in found.tables[0].rows] == ["–"] * 3
    assert len(found.figures) == 1
