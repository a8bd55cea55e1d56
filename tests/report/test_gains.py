"""The README's table and figure of gains: which runs they pair, and what they mark."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.catalog import list_tables
from elmo_bench.cli.main import main
from elmo_bench.metrics.accuracy import score_accuracy
from elmo_bench.records import Record
from elmo_bench.report.comparison import Referee
from elmo_bench.report.forests import build_gains
from elmo_bench.report.gains import TaskGain, draw_gains, find_gains, write_gains
from elmo_bench.report.inputs import ReportInputs, ShownTask
from elmo_bench.report.published import read_published
from elmo_bench.report.summary import summarise
from tests.support.report_records import ELMO, NONE, make_record, publish


def gains(directory: Path, *runs: tuple[Record, int]) -> list[TaskGain]:
    for record, right in runs:
        publish(directory, record, right)
    return find_gains(read_published(directory), "sample", Referee({"ner": score_accuracy}, 200))


def pair(seed: int, before: int, after: int, **changes: Any) -> list[tuple[Record, int]]:
    """A baseline and its run with ELMo, so many of their 40 examples right."""
    return [
        (make_record("ner", seed, before, NONE, **dict(changes)), before),
        (make_record("ner", seed, after, ELMO, **dict(changes)), after),
    ]


def test_a_gain_is_the_mean_of_the_differences_by_seed(tmp_path: Path) -> None:
    seeds = [*pair(1, 20, 26), *pair(2, 22, 26), *pair(3, 21, 29)]
    alone = (make_record("ner", 9, 40, ELMO), 40)  # a seed without a baseline
    (gain,) = gains(tmp_path, *seeds, alone)
    assert (gain.baseline, gain.elmo, gain.gain, gain.seeds) == (52.5, 67.5, 15.0, 3)
    assert gain.interval is not None and gain.interval.low < 15.0 < gain.interval.high


def test_every_place_shows_the_interval_of_the_main_test(tmp_path: Path) -> None:
    """The table and the figure of the README, a summary, and the page's drawing of all gains."""
    (gain,) = gains(tmp_path, *pair(1, 20, 26), *pair(2, 22, 26), *pair(3, 21, 29))
    published, referee = read_published(tmp_path), Referee({"ner": score_accuracy}, 200)
    before, after = (
        {run.seed: run for run in published.runs if (run.record.encoder is None) == is_baseline}
        for is_baseline in (True, False)
    )
    found = referee.compare(before, after, "test", "accuracy")
    assert found is not None and found.main == gain.interval
    assert f"[{found.main.low:+.1f}, {found.main.high:+.1f}] |" in write_gains([gain])
    assert f"gain +15.00 [{found.main.low:+.2f}, {found.main.high:+.2f}]  " in summarise(
        published.runs, referee
    )
    tasks = {"ner": ShownTask("ner", "NER")}
    section = build_gains(ReportInputs(published, referee, list_tables(), tasks))
    assert section is not None
    drawn = [one for forest in section.forests for group in forest.groups for one in group.gains]
    assert [one.interval for one in drawn if not one.is_paper] == [(found.main.low, found.main.high)]


def test_two_seeds_have_an_interval_over_examples_alone_and_say_so(tmp_path: Path) -> None:
    (gain,) = gains(tmp_path, *pair(1, 20, 26), *pair(2, 22, 26))
    assert gain.interval is not None and gain.interval.basis == "examples"
    assert re.search(r"\| \+12\.5 \[\+\d+\.\d, \+\d+\.\d\] \(examples\) \| 2 \|", write_gains([gain]))
    assert '<line class="sure alone"' in draw_gains([gain], "test")


def test_other_settings_of_elmo_are_not_the_main_result(tmp_path: Path) -> None:
    last = make_record("ner", 1, 36, {**ELMO, "layers": "last"})
    (gain,) = gains(tmp_path, *pair(1, 20, 26), (last, 36))
    assert gain.elmo == 65.0


@pytest.mark.parametrize(
    ("stopped", "best", "mark"), [("cap", 6, "†"), ("cap", 5, "‡"), ("patience", 6, "(examples) | 1 |")]
)
def test_a_training_that_its_cap_ended_is_marked(tmp_path: Path, stopped: str, best: int, mark: str) -> None:
    (gain,) = gains(tmp_path, *pair(1, 20, 26, best_epoch=best, stopped=stopped))
    assert mark in write_gains([gain])
    drawn = draw_gains([gain], "test")
    assert ('circle class="open"' in drawn) == (stopped == "cap")
    assert (f"n = 1 {mark}" in drawn) == (stopped == "cap")


def test_one_converged_baseline_is_enough_to_doubt_that_all_were_rising(tmp_path: Path) -> None:
    rising = pair(1, 20, 26, best_epoch=6, stopped="cap")
    (gain,) = gains(tmp_path, *rising, *pair(2, 20, 26, best_epoch=2, stopped="patience"))
    assert not gain.rising and gain.capped


def test_the_figure_is_an_image_with_every_number_of_the_table(tmp_path: Path) -> None:
    found = gains(tmp_path, *pair(1, 20, 26), *pair(2, 22, 26), *pair(3, 21, 29))
    root = ET.fromstring(draw_gains(found, "a < b"))
    texts = " ".join(element.text or "" for element in root.iter())
    assert "52.5 → 67.5, n = 3" in texts and "a < b" in texts
    for element in root.iter("{http://www.w3.org/2000/svg}circle"):
        assert 0 < float(element.get("cx", "-1")) < float(root.get("width", "0"))


def test_the_command_prints_the_table_and_writes_the_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snli = [(record.model_copy(update={"task": "snli"}), right) for record, right in pair(1, 20, 26)]
    gains(tmp_path / "records", *snli)
    figure = tmp_path / "gains.svg"
    place = [f"paths.records={tmp_path / 'records'}"]
    assert main(["summary", *place, "--source", "sample", "--gains", "--figure", str(figure)]) == 0
    row = r"^\| .* \| accuracy \| 50\.0 \| 65\.0 \| \+15\.0 \[.*\] \(examples\) \| 1 \|$"
    assert re.search(row, capsys.readouterr().out, re.M)
    assert figure.read_text().startswith("<svg")
    assert main(["summary", *place, "--source", "open", "--gains"]) == 3
    assert "source open" in capsys.readouterr().err
    assert main(["summary", *place, "--figure", str(figure)]) == 2
    assert main(["summary", *place, "--gains"]) == 2
