"""Which cells a report fills from which records, what it warns of, and that no data becomes markup."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from elmo_bench.catalog import list_findings, list_tables, list_tasks, read_task
from elmo_bench.cli.main import main
from elmo_bench.conditions import choose_encoder
from elmo_bench.config import FamilyConfig
from elmo_bench.metrics.accuracy import score_accuracy
from elmo_bench.records import (
    BeforeAndAfter,
    Context,
    ContextNeighbours,
    ContextRank,
    NeighboursRecord,
    PerplexityRecord,
    Record,
    read_model_record,
    write_record,
)
from elmo_bench.report.assembly import assemble
from elmo_bench.report.cells import spell_p
from elmo_bench.report.comparison import Referee
from elmo_bench.report.convergence import MARK, SIGN
from elmo_bench.report.efficiency import pair_by_size
from elmo_bench.report.formats import (
    escape_csv,
    escape_markdown,
    write_csv,
    write_markdown,
)
from elmo_bench.report.inputs import ReportInputs, describe_tasks
from elmo_bench.report.latex import escape_latex, write_latex
from elmo_bench.report.model import Cell, Forest, Report, Section, Table
from elmo_bench.report.page import write_page
from elmo_bench.report.paper import paper
from elmo_bench.report.published import read_published
from tests.support.report_records import ELMO, NONE, make_model, make_record, publish, publish_world

EVIL = "<script>alert('1')</script> & | ` \\ {x} $y_1^2$ % # ~ *b* [l](u)\nnew line"


def build(
    directory: Path,
    resamples: int = 200,
    families: Mapping[str, FamilyConfig] | None = None,
    sizes: Collection[str] = ("paper",),
) -> Report:
    published = read_published(directory)
    records = [run.record for run in published.runs]
    scores = {record.task: score_accuracy for record in records}
    tasks, problems = describe_tasks({name: read_task(name) for name in list_tasks()}, list_tables(), records)
    referee = Referee(scores, resamples, problems=problems)
    inputs = ReportInputs(published, referee, list_tables(), tasks, families or {}, frozenset(sizes))
    return assemble(inputs)


def table(report: Report, name: str, block: str = "encoder sample") -> Table:
    section = next(section for section in report.sections if section.name == name)
    return next(table for table in section.tables if block in table.block)


def row(found: Table, task: str, system: str) -> dict[str, Cell]:
    cells = next(cells for cells in found.rows if (cells[0].text, cells[1].text) == (task, system))
    return dict(zip(found.columns, cells, strict=True))


@pytest.fixture
def records(tmp_path: Path) -> Path:
    publish_world(tmp_path / "records")
    return tmp_path / "records"


def test_cells_hold_the_conditions_their_rows_name(records: Path) -> None:
    report = build(records)
    elmo = row(table(report, "table1"), "NER", "+ ELMo")
    assert elmo["Here"].lines == ("65.83 ± 2.89", "n = 3")
    assert elmo["Paper"].lines == ("92.22 ± 0.1",)
    assert elmo["Paper's gain"].lines == ("+2.06", "21 % less error")
    assert elmo["Gain"].lines == ("+13.33", "28.1 % less error")
    assert "sign-flip 0.250" in elmo["p"].lines
    assert row(table(report, "table2"), "SNLI", "last layer only")["Here"].value == pytest.approx(
        100 * 27 / 40
    )
    assert row(table(report, "table3"), "SNLI", "input and output")["Here"].value == pytest.approx(
        100 * 29 / 40
    )
    assert row(table(report, "table13", "no encoder yet"), "SST-5", "BCN+ELMo")["Here"].kind == "missing"


def test_empty_cells_name_the_command_that_fills_them(records: Path) -> None:
    report = build(records)
    found = table(report, "table2")
    assert found.commands == (
        "python run.py -m +experiment=table2 task=squad,snli,srl data=sample encoder=sample",
    )
    assert row(found, "SQuAD", "baseline")["Here"].text == "no run"


def test_notes_say_which_way_a_setting_was_chosen(tmp_path: Path) -> None:
    def chosen(values: dict[str, Any]) -> dict[str, Any]:
        return {"task": {"name": "snli", "elmo": {"where": "input"}, "settings": values}}

    said = {}
    for name, settings in {
        "with_elmo": {"head": {"regularise": "with_elmo"}},
        "always": {"head": {"regularise": "always"}},
        "older": {"head": {"l2": 1e-4}},  # regularised in both conditions, and could not choose
    }.items():
        publish(tmp_path / name, make_record("snli", 1, 20, NONE, config=chosen(settings)), 20)
        publish(tmp_path / name, make_record("ner", 1, 20, NONE), 20)
        said[name] = " ".join(table(build(tmp_path / name), "table1", "no encoder yet").notes)
    assert (
        "SNLI (world): L2 penalty and attention dropout with ELMo only, as in the paper" in said["with_elmo"]
    )
    assert "with and without ELMo" in said["always"]
    assert said["older"] == said["always"]


def test_the_command_of_an_untrained_twin_chooses_it(tmp_path: Path) -> None:
    publish(tmp_path, make_record("snli", 1, 20, ELMO, encoder="untrained_small"), 20)
    (command,) = table(build(tmp_path), "table2", "encoder untrained_small").commands
    assert command.endswith(" data=sample encoder=small encoder.untrained=true")
    assert choose_encoder("untrained") == ["encoder=sample", "encoder.untrained=true"]


def test_another_encoder_never_shares_a_table(records: Path) -> None:
    report = build(records)
    section = next(section for section in report.sections if section.name == "table1")
    assert [("encoder sample" in one.block, "encoder untrained" in one.block) for one in section.tables] == [
        (True, False),
        (False, True),
    ]
    control = table(report, "table1", "encoder untrained")
    assert {cells[0].text for cells in control.rows} == {"NER"}  # a control lists only what it was run on
    assert row(control, "NER", "+ ELMo")["Gain"].text == "+0.00; 0.0 % less error"


def test_paper_numbers_that_are_not_verified_are_marked(records: Path) -> None:
    cell = row(table(build(records), "table7_words"), "SNLI", "ELMo, no word vectors")["Paper"]
    assert cell.kind == "unverified"
    assert "unverified" in cell.lines


def test_every_number_of_tables_1_to_13_is_shown(records: Path) -> None:
    tables = [one for section in build(records).sections for one in section.tables]
    shown = {cell.text.split("; ")[0] for one in tables for cells in one.rows for cell in cells}
    for name in ("table5_wsd_F1", "table6_pos_accuracy_PTB_test", "table12_ner_test_F1", "table8_snli_test"):
        for system, entry in paper()["tables"][name].items():
            assert system in shown
            assert any(text.startswith(str(entry["value"])) for text in shown), entry
    for task in ("SNLI", "SRL", "SQuAD"):
        for entry in paper()["tables"]["table2_dev_layer_weighting"][task].values():
            assert str(entry["value"]) in shown


def test_speed_of_learning_is_a_column_of_its_own(records: Path) -> None:
    report = build(records)
    full = row(table(report, "figure1"), "SNLI", "600; 100 %")
    # curves are 0.3, 0.6, 0.8, 0.9, 1 of their best: of 29/40 the fourth is above 24/40, the third is not;
    # each epoch has 600 examples in batches of one
    lines = ("2,400", "baseline's best: 3,000", "estimated from epochs")
    assert full["Updates to pass"].lines == lines
    assert row(table(report, "table1"), "SNLI", "+ ELMo")["Updates to pass"].lines == lines
    assert row(table(report, "table1"), "SNLI", "baseline")["Updates to pass"].kind == "nothing"
    assert row(table(report, "figure1"), "SNLI", "60; 10 %")["Gain"].value == pytest.approx(15.0)


def test_the_papers_points_stand_beside_ours_of_about_as_many_examples(records: Path) -> None:
    found = table(build(records), "figure1")
    assert row(found, "SNLI", "600; 100 %")["Paper's gain"].lines == ("+12.3", "at 549", "unverified")
    assert row(found, "SNLI", "60; 10 %")["Paper's gain"].kind == "nothing"
    alone = row(found, "SNLI", "54,937; 10 % of the paper's")
    assert alone["Paper's gain"].lines == ("+1.5", "at 54,937", "unverified")
    assert alone["Baseline"].kind == "nothing"
    assert [cells[1].lines[0] for cells in found.rows] == ["60", "600", "5,494", "54,937", "549,367"]


def test_sizes_are_paired_within_half_a_decade() -> None:
    assert pair_by_size([60, 600, 6000], [549, 5494, 54937]) == {0: 1, 1: 2}
    assert pair_by_size([500, 600], [549, 5494]) == {0: 1}  # the nearer one
    assert pair_by_size([], [549]) == {}


def test_a_further_encoder_has_a_curve_if_it_was_run_on_two_sizes(tmp_path: Path) -> None:
    publish_world(tmp_path)
    other = {"encoder_fingerprint": "a" * 64}
    publish(tmp_path, make_record("snli", 1, 30, ELMO, encoder="other", identity=other), 30)

    def shown() -> list[str]:
        section = next(section for section in build(tmp_path).sections if section.name == "figure1")
        return [one.block for one in section.tables if "encoder other" in one.block]

    assert shown() == []
    part = {"data": {"source": "sample", "corpus": None, "fraction": 0.1, "limit": None}}
    sizes = {"train": 60, "dev": 40, "test": 40}
    publish(
        tmp_path,
        make_record("snli", 1, 28, ELMO, encoder="other", identity={**other, **part}, examples=sizes),
        28,
    )
    assert len(shown()) == 1


def test_few_examples_make_no_point(tmp_path: Path) -> None:
    publish_world(tmp_path)
    part = {"data": {"source": "sample", "corpus": None, "fraction": 0.001, "limit": None}}
    sizes = {"train": 1, "dev": 40, "test": 40}
    limited = {"data": {"source": "sample", "corpus": None, "fraction": 1.0, "limit": 200}}
    for elmo in (NONE, ELMO):
        publish(tmp_path, make_record("snli", 1, 13, elmo, identity=part, examples=sizes), 13)
        wider = make_record("snli", 1, 14, elmo, identity=limited, examples={**sizes, "train": 200})
        publish(tmp_path, wider, 14)
    report = build(tmp_path)
    found = table(report, "figure1")
    sizes_shown = [cells[1].text for cells in found.rows][:3]
    assert sizes_shown == ["60; 10 %", "200; 100 %, at most 200", "600; 100 %"]
    assert "SNLI: runs on fewer than 50 training examples are no points here (1)." in found.notes
    assert "figure1_sample task=srl" in found.commands[0]
    assert {cells[1].lines[1] for cells in table(report, "further").rows} == {"0.1 % of the training set"}


def test_the_p_of_the_main_test_is_adjusted_for_its_table(records: Path) -> None:
    found = table(build(records), "table1")
    cells = [row(found, task, "+ ELMo")["p"] for task in ("NER", "SNLI")]
    smaller, larger = sorted(cell.value for cell in cells if cell.value is not None)
    assert {cell.lines[1] for cell in cells} == {
        f"adjusted {spell_p(2 * smaller)}", f"adjusted {spell_p(max(2 * smaller, larger))}"
    }  # fmt: skip


def test_two_seeds_are_said_to_have_no_interval_over_seeds(tmp_path: Path) -> None:
    for seed in (1, 2):
        publish(tmp_path, make_record("ner", seed, 20 + seed, NONE), 20 + seed)
        publish(tmp_path, make_record("ner", seed, 30, ELMO), 30)
    interval = row(table(build(tmp_path), "table1"), "NER", "+ ELMo")["95 % interval"]
    assert interval.lines[-1] == "over seeds none: 3 are needed"
    assert not any(line.startswith("seeds") for line in interval.lines)


def test_a_run_at_its_cap_marks_every_number_and_figure_it_is_in(tmp_path: Path) -> None:
    publish_world(tmp_path)
    sizes = {"train": 600, "dev": 40, "test": 40}
    publish(tmp_path, make_record("snli", 1, 24, NONE, stopped="cap", examples=sizes), 24)
    report = build(tmp_path)
    mixed = make_mark(1, 3)
    baseline = row(table(report, "table1"), "SNLI", "baseline")
    elmo = row(table(report, "table1"), "SNLI", "+ ELMo")
    share = row(table(report, "figure1"), "SNLI", "600; 100 %")
    assert (baseline["Here"].marks, share["Baseline"].marks) == ((mixed,), (mixed,))
    assert (elmo["Gain"].marks, share["Gain"].marks) == ((MARK,), (MARK,))
    assert (elmo["Here"].marks, share["+ ELMo"].marks) == ((), ())
    assert elmo["Updates to pass"].marks == (make_mark(1, 6),)
    assert row(table(report, "table1"), "NER", "+ ELMo")["Gain"].marks == ()
    for text in (write_markdown(report), write_latex(report), write_csv(report), write_page(report)):
        assert mixed in text.replace("\\", "")
    marked = [figure for section in report.sections for figure in section.figures if SIGN in figure.svg]
    assert {figure.name for figure in marked} == {"curves", "figure1"}
    assert {gains.task: gains.gains[0].marks for gains in opening_gains(report).groups} == {
        "SNLI": (MARK,), "NER": ()
    }  # fmt: skip
    assert all("met its cap" in figure.caption for figure in marked)


def opening_gains(report: Report) -> Forest:
    """The drawing of gains that a page opens with."""
    (section,) = (section for section in report.sections if section.name == "gains")
    return section.forests[0]


def make_mark(capped: int, runs: int) -> str:
    return f"{MARK} ({capped} of {runs})"


def test_layer_weights_of_a_run_at_its_cap_are_marked(tmp_path: Path) -> None:
    publish(tmp_path, make_record("snli", 1, 24, ELMO, stopped="cap"), 24)
    report = build(tmp_path)
    weights = row(table(report, "figure2"), "SNLI", "input")
    assert weights["LSTM 1"].marks == (MARK,)
    (figure,) = [one for section in report.sections for one in section.figures if one.name == "figure2"]
    assert f"SNLI {SIGN}" in figure.svg and "met its cap" in figure.caption


def test_the_report_opens_with_the_findings_of_every_source(records: Path) -> None:
    report = build(records, families=list_findings())
    section = report.sections[0]
    found, not_run = section.tables  # what runs say something of, and the rest
    assert (section.name, found.block) == ("findings", "source sample")
    ner = row(found, "NER", "ELMo beats the baseline; 4, Table 1")
    assert ner["Paper"].lines == ("90.15 → 92.22",)
    assert ner["Here"].lines == ("52.50 → 65.83", "world, size sample, sample")
    assert ner["Verdict"].lines == ("holds",)
    srl = row(not_run, "SRL", "ELMo beats the baseline; 4, Table 1")
    assert (srl["Verdict"].lines, srl["Verdict"].kind) == (("not run",), "missing")
    assert (
        "python run.py -m task=squad,srl,coref,sst5 data=sample encoder=sample seed=1,2,3" in not_run.commands
    )
    for text in (write_markdown(report), write_page(report), write_latex(report)):
        assert text.index("ELMo beats the baseline") < text.index("previous best")


def test_what_a_size_keeps_of_the_training_set_stands_in_the_records(tmp_path: Path) -> None:
    publish_world(tmp_path, snli_fraction=0.1)
    report = build(tmp_path)
    found = table(report, "table1")
    assert row(found, "SNLI", "+ ELMo")["Here"].value == pytest.approx(100 * 19 / 40)
    assert row(found, "NER", "+ ELMo")["Here"].value == pytest.approx(100 * 79 / 120)
    assert "SNLI: trained on 10 % of its train split (size sample)." in found.notes


def test_warns_of_mixed_commits_and_dirty_trees(tmp_path: Path) -> None:
    other = {"commit": "d" * 40, "dirty": True}
    publish(tmp_path, make_record("ner", 1, 20, NONE), 20)
    publish(tmp_path, make_record("ner", 2, 21, NONE, environment=other), 21)
    warnings = "\n".join(build(tmp_path).warnings)
    assert "the cell mixes runs of the commits ccccccccc, ddddddddd" in warnings
    assert "no commit has (seeds 2)" in warnings


def test_a_run_of_an_installed_package_is_of_its_version(tmp_path: Path) -> None:
    installed = {"version": "0.1.0", "commit": None, "dirty": None}
    publish(tmp_path, make_record("ner", 1, 20, NONE), 20)
    publish(tmp_path, make_record("ner", 2, 21, NONE, environment=installed), 21)
    report = build(tmp_path)
    assert "from commit ccccccccc and version 0.1.0." in report.summary
    assert any(
        "mixes runs of the commit ccccccccc and version 0.1.0" in warning for warning in report.warnings
    )


def test_counts_that_do_not_make_the_score_are_not_tested_with(tmp_path: Path) -> None:
    for right, elmo in ((20, NONE), (30, ELMO)):
        publish(tmp_path, make_record("ner", 1, right, elmo), right - 1)
    report = build(tmp_path)
    assert row(table(report, "table1"), "NER", "+ ELMo")["p"].kind == "nothing"
    assert any("do not make the score of its record" in warning for warning in report.warnings)


def test_damaged_and_missing_counts_are_named(tmp_path: Path) -> None:
    publish(tmp_path, make_record("ner", 1, 20, NONE), 20)
    run = publish(tmp_path, make_record("ner", 1, 30, ELMO), 30)
    run.counts.write_bytes(b"damaged")
    assert any("not the counts of its record" in warning for warning in build(tmp_path).warnings)
    run.counts.unlink()
    assert any("counts are not there" in warning for warning in build(tmp_path).warnings)


def test_debug_runs_unknown_kinds_and_damaged_records_are_passed_over(records: Path) -> None:
    before = write_csv(build(records))
    publish(records, make_record("ner", 9, 40, ELMO, debug=True), 40)
    (records / "new.json").write_text(json.dumps({"kind": "from the future"}))
    (records / "broken.json").write_text("{")
    report = build(records)
    assert write_csv(report) == before
    warnings = "\n".join(report.warnings)
    assert all(
        part in warnings
        for part in ("trial run on a few examples", "'from the future'", "broken.json is not shown")
    )


def test_a_run_with_other_settings_is_a_row_of_the_last_table(tmp_path: Path) -> None:
    for seed in (1, 2):
        publish(tmp_path, make_record("ner", seed, 20, NONE), 20)
        publish(tmp_path, make_record("ner", seed, 30, ELMO), 30)
    other = {"task": {"name": "ner", "lr": 0.1}}
    publish(tmp_path, make_record("ner", 1, 22, NONE, identity=other), 22)
    publish(tmp_path, make_record("ner", 1, 24, ELMO, identity=other), 24)
    report = build(tmp_path)
    (label,) = [cells[1] for cells in table(report, "further").rows]
    assert label.lines[-1] == "other settings: task.lr none / 0.1"
    assert row(table(report, "further"), "NER", label.text)["Gain"].text == "+5.00; 11.1 % less error"


def odd_records() -> list[Record]:
    """Runs that no table of the paper has a row for."""
    tenth = {"data": {"source": "sample", "corpus": None, "fraction": 1.0, "limit": 7}}
    task = {"name": "emotion", "title": "Emotion", "elmo": {key: ELMO[key] for key in ("where", "lambda")}}
    return [
        make_record("emotion", 1, 20, NONE),  # a task that is not registered here
        make_record("emotion", 1, 30, ELMO, config={"task": task}),
        make_record("emotion", 1, 30, ELMO, identity={"task_version": 2}, config={}),
        make_record("emotion", 1, 31, ELMO, config={"task": {"paper": "nonsense"}}, identity={"numerics": 7}),
        make_record("ner", 1, 21, {**ELMO, "gamma": "fixed"}),  # a condition of nobody's
        make_record("ner", 1, 22, {**ELMO, "layers": 1}),
        make_record("ner", 1, 23, NONE, identity={"words": {"kind": "file"}, "words_sha256": "8" * 64}),
        make_record("ner", 1, 24, NONE, identity=tenth),
        make_record("ner", 1, 25, ELMO, size="huge"),
        make_record("ner", 1, 26, ELMO, source="files", corpus="own"),
        make_record("ner", 1, 27, ELMO, encoder="another", identity={"encoder_fingerprint": "a" * 64}),
        make_record("wsd", 1, 28, {**ELMO, "where": "output"}),
    ]


def test_notes_say_what_must_be_known_of_the_corpus(tmp_path: Path) -> None:
    for task, corpus, said in (
        ("squad", "part", None),  # from before records had notes
        ("srl", "ewt", ["what was said once"]),  # a correction reaches published runs
        ("snli", "elsewhere", ["from the record"]),  # a corpus that this machine does not know
    ):
        place = {"source": "open", "corpus": corpus}
        for seed in (1, 2):
            publish(tmp_path, make_record(task, seed, 20, NONE, **place, notes=said), 20)
    notes = " ".join(table(build(tmp_path), "table1", "source open").notes)
    assert "SQuAD (part): of 10,941 questions to learn from, 4,019 are the paper's" in notes
    assert "while the paper's test scores are of the hidden test set" in notes
    assert "SRL (ewt): web text with 28,639 verbs" in notes and "what was said once" not in notes
    assert "SNLI (elsewhere): from the record" in notes


def test_a_figure_has_the_notes_of_a_table(tmp_path: Path) -> None:
    for elmo in (NONE, ELMO):
        record = make_record("wsd", 1, 20, elmo, source="open", corpus="semcor")
        publish(tmp_path, record, 20)
    section = next(section for section in build(tmp_path).sections if section.name == "curves")
    assert section.figures
    assert all("SemEval-2015 is absent" in " ".join(figure.notes) for figure in section.figures)


def test_a_gain_may_be_over_another_row_than_the_baseline(tmp_path: Path) -> None:
    for where, right in (("input", 30), ("both", 28)):
        publish(tmp_path, make_record("coref", 1, right, {**ELMO, "where": where}), right)
    found = table(build(tmp_path), "table3_coref")
    both = row(found, "Coref", "input and output")
    assert both["Paper's gain"].lines == ("-0.7",)
    assert both["Gain"].value == pytest.approx(-5.0)
    assert row(found, "Coref", "input only")["Gain"].kind == "nothing"  # there is no baseline


def test_an_encoder_that_reads_documents_is_compared_with_one_that_reads_sentences(tmp_path: Path) -> None:
    for context, right in (({}, 28), ({"encoder_context": "document"}, 30)):
        publish(tmp_path, make_record("coref", 1, right, {**ELMO, **context}), right)
    documents = row(table(build(tmp_path), "context"), "Coref", "documents")
    assert documents["Gain"].value == pytest.approx(5.0)


def test_an_encoder_without_runs_of_the_main_row_has_no_such_table(records: Path) -> None:
    report = build(records)
    (context,) = next(section.tables for section in report.sections if section.name == "context")
    assert "encoder sample" in table(report, "table3").block
    assert "encoder sample" not in context.block and context.commands


def test_a_further_encoder_has_a_table_of_several_conditions_if_it_was_run_on_two(tmp_path: Path) -> None:
    def shown(name: str) -> list[str]:
        section = next(section for section in build(tmp_path).sections if section.name == name)
        return [one.block for one in section.tables if "encoder other" in one.block]

    def publish_other(where: str) -> None:
        identity = {"encoder_fingerprint": "f" * 64}
        made = make_record("srl", 1, 30, {**ELMO, "where": where}, encoder="other", identity=identity)
        publish(tmp_path, made, 30)

    for seed in (1, 2, 3):
        publish(tmp_path, make_record("srl", seed, 20, ELMO), 20)
    publish(tmp_path, make_record("srl", 1, 15, NONE), 15)
    publish_other("input")
    assert len(shown("table1")) == 1 and shown("table3") == []
    publish_other("both")
    assert len(shown("table3")) == 1


def test_a_row_of_the_paper_stands_only_where_the_paper_has_the_task(records: Path) -> None:
    found = table(build(records), "table2")
    paper = found.columns.index("Paper")
    labels = {(cells[0].text, cells[paper].text) for cells in found.rows if cells[1].text.startswith("CoVe")}
    assert labels == {("SNLI", "88.2"), ("SNLI", "88.7"), ("SRL", "82.1"), ("SRL", "82.2")}


def test_layers_stored_in_fewer_bits_are_in_no_cell_beside_the_usual_ones(tmp_path: Path) -> None:
    publish(tmp_path, make_record("ner", 1, 20, NONE), 20)
    for elmo, dtype, right in (
        (ELMO, "float16", 30),
        ({**ELMO, "lambda": 1.0}, "float16", 28),
        (ELMO, "int8", 36),
    ):
        for seed in (1, 2):
            made = make_record("ner", seed, right, elmo, identity={"store": {"dtype": dtype}})
            publish(tmp_path, made, right)
    report = build(tmp_path)
    assert row(table(report, "table1"), "NER", "+ ELMo")["Here"].value == 75.0
    assert table(report, "encoders", "source").rows[1][-1].text.endswith("75.00 ± 0.00; n = 2")


def test_gamma_fixed_is_a_condition_of_its_own(tmp_path: Path) -> None:
    last = {**ELMO, "layers": "last"}
    for elmo, right in ((NONE, 20), (last, 25), ({**last, "gamma": "fixed"}, 15)):
        publish(tmp_path, make_record("snli", 1, right, elmo), right)
    fixed = row(table(build(tmp_path), "table2_gamma"), "SNLI", "last layer only, γ = 1")
    assert fixed["Gain"].value == pytest.approx(-12.5)


def test_a_fine_tuned_encoder_is_a_row_beside_its_origin(tmp_path: Path) -> None:
    publish(tmp_path, make_record("snli", 1, 30, ELMO), 30)
    identity = {"encoder_fingerprint": "f" * 64}
    tuned = make_record("snli", 1, 32, ELMO, encoder="sample-snli-world", identity=identity)
    publish(tmp_path, tuned, 32)
    report = build(tmp_path)
    section = next(section for section in report.sections if section.name == "table7_effect")
    (found,) = section.tables
    cells = row(found, "SNLI", "fine-tuned biLM")
    assert (cells["Paper"].text, cells["Paper's gain"].lines[0]) == ("89.5", "+0.6")
    assert cells["Gain"].value == pytest.approx(5.0)
    assert cells["Here"].runs == (f"{tuned.condition}-s1",)


def wsd_record(seed: int, right: int, elmo: dict[str, Any], nearest: str) -> Record:
    """A run of the probe; its settings as a record has them."""
    head = {"distance": "cosine", **({} if nearest == "mean" else {"nearest": nearest})}
    settings = {"head": {"distance": "cosine", "nearest": nearest}}
    layer = {"layers": 2, "gamma": "fixed", "where": "input", "dropout": 0.5}
    task = {"name": "wsd", "elmo": layer, "settings": settings}
    return make_record(
        "wsd",
        seed,
        right,
        NONE if elmo == NONE else {**layer, **elmo},
        config={"task": task},
        identity={"task": {"name": "wsd", "settings": {"head": head}}},
    )


def test_a_row_may_have_other_settings_than_the_usual_ones(tmp_path: Path) -> None:
    publish(tmp_path, wsd_record(1, 20, NONE, "mean"), 20)
    for layer, nearest, right in ((1, "mean", 18), (2, "mean", 19), (2, "token", 24)):
        publish(tmp_path, wsd_record(1, right, {"layers": layer}, nearest), right)
    found = table(build(tmp_path), "table5")
    notes = " ".join(found.notes)
    assert "nearest mean is taken" in notes
    assert "layer 2, single tokens: the sense of the nearest single training token is taken" in notes
    assert row(found, "WSD probe", "biLM layer 2")["Gain"].value == pytest.approx(-2.5)
    assert row(found, "WSD probe", "layer 2, single tokens")["Here"].value == pytest.approx(60.0)
    assert row(found, "WSD probe", "layer 2, single tokens")["Gain"].value == pytest.approx(10.0)
    assert row(found, "WSD probe", "layer 1, single tokens")["Here"].kind == "missing"


def test_every_published_run_is_shown(tmp_path: Path) -> None:
    publish_world(tmp_path)
    for record in odd_records():
        publish(tmp_path, record, 20)
    report = build(tmp_path)
    shown = {
        run
        for one in report.sections
        for tab in one.tables
        for cells in tab.rows
        for cell in cells
        for run in cell.runs
    }
    assert shown == {path.stem for path in tmp_path.rglob("*-s*.json")}
    assert not [warning for warning in report.warnings if "not shown" in warning]
    assert {cells[0].text for cells in table(report, "further").rows} >= {"Emotion", "NER"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"kind": "run"}', "not a record of this version"),
        ('["run"]', "not a JSON object"),
        ('{"kind": "future"}', "unknown kind"),
        ("{", "not shown"),
        (make_record("ner", 1, 20, NONE, debug=True).model_dump_json(), "few examples"),
        (make_record("ner", 1, 20, NONE, scores={}).model_dump_json(), "without test scores"),
        (make_record("ner", 1, 20, NONE, identity={"words": {}}).model_dump_json(), "no identity.words.kind"),
    ],
)
def test_a_file_that_is_not_shown_is_named_on_the_first_page(
    tmp_path: Path, content: str, reason: str
) -> None:
    publish(tmp_path, make_record("ner", 3, 20, NONE), 20)
    (tmp_path / "odd.json").write_text(content)
    (warning,) = [warning for warning in build(tmp_path).warnings if "odd.json" in warning]
    assert reason in warning


def test_a_description_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    publish(tmp_path, make_record("odd", 1, 20, NONE, config={"task": {"title": "Odd", "paper": "no"}}), 20)
    assert any("odd: the description in its records" in warning for warning in build(tmp_path).warnings)


def test_a_copy_of_a_record_is_named(records: Path) -> None:
    original = next(iter(sorted(records.rglob("*-s1.json"))))
    (records / "copy.json").write_bytes(original.read_bytes())
    named = [warning for warning in build(records).warnings if "is the same run" in warning]
    assert len(named) == 1


def test_perplexities_and_neighbours_are_shown(records: Path) -> None:
    model = records / "models" / "small-ner-wikigold" / "record.json"
    model.parent.mkdir(parents=True)
    model.write_text(json.dumps(make_model()))
    perplexity = read_model_record(model)
    assert isinstance(perplexity, PerplexityRecord)
    model.write_text(json.dumps(make_model(finetuned=None, config={"name": "small"})))
    pretraining = read_model_record(model)
    assert pretraining
    write_record(records / "small_long-0123abcd4567.json", pretraining)  # named by the model's directory
    model.unlink()
    write_record(records / "perplexity.json", perplexity)
    write_record(records / "older.json", as_before_carried_states(perplexity))
    place = Context(sentence=("A", "play", "."), position=1)
    found = NeighboursRecord(
        identity={"word": "play"},
        word="play",
        encoder="small",
        encoder_fingerprint="e" * 64,
        layer=2,
        corpus="news",
        corpus_tokens=3,
        occurrences=1,
        contexts=[
            ContextNeighbours(
                query=place,
                nearest=[place],
                ranks=[ContextRank(context=place, candidates="same", rank=6, total=127)],
            )
        ],
        vectors="glove.txt",
        vectors_sha256="9" * 64,
        static=[("game", 0.9)],
        environment={},
    )
    write_record(records / "neighbours.json", found)
    report = build(records)
    text = write_markdown(report)
    heading = "| CoNLL-2003 (NER) | 103.2 | 46.3 | small, open, wikigold, text |"
    assert f"{heading} fresh | 103.25 | 46.50 |" in text
    assert f"{heading} carried | 97.50 | 43.50 |" in text
    assert f"{heading} fresh, sentences cut after 120 tokens | 103.25 | 46.50 |" in text
    assert text.count(f"{heading} carried") == 1
    assert "| the paper's biLM | 1B Word Benchmark | carried | – | – | 39.7 |" in text
    heldout = "| small\\_long | dev-text.txt, 2,010 tokens (30,000 to learn from) |"
    assert f"{heldout} fresh | 46.00 | 47.00 | 46.50 |" in text
    assert f"{heldout} carried | 44.00 | 43.00 | 43.50 |" in text
    assert "A \\[play\\] ." in text
    assert "the paper's neighbour is number 6 of 127 sentences with play" in text
    assert "| here, glove.txt | play | game |" in text


def test_a_trial_of_fine_tuning_is_in_no_table(records: Path) -> None:
    path = records / "model" / "record.json"
    path.parent.mkdir()
    path.write_text(json.dumps(make_model(finetuned={**make_model()["finetuned"], "limit": 9})))
    record = read_model_record(path)
    assert record
    path.unlink()
    write_record(records / "tried.json", record)
    report = build(records)
    assert "103.25" not in write_markdown(report)
    assert "tried.json is not shown: trial run on a few examples (limit)" in report.warnings


def test_perplexities_that_no_text_of_the_paper_names_are_shown(records: Path) -> None:
    """A task that is not registered here, and a further stream of one whose texts are listed by stream."""
    for task, streams in (("emotion", ("text", "title")), ("squad", ("context", "title"))):
        figures = make_model()["streams"]["text"]
        tuned = {**make_model()["finetuned"], "task": task}
        path = records / "model" / "record.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(make_model(finetuned=tuned, streams=dict.fromkeys(streams, figures))))
        record = read_model_record(path)
        assert record
        path.unlink()
        write_record(records / f"{task}.json", record)
    rows = table(build(records), "table7_perplexity", "").rows
    fresh = [cells for cells in rows if cells[4].text == "fresh"]
    shown = [(cells[0].text, cells[3].text) for cells in fresh]
    assert [(label, model.rpartition(" ")[2]) for label, model in shown] == [
        ("SQuAD context", "context"),
        ("emotion", "text"),
        ("emotion", "title"),
        ("SQuAD", "title"),
    ]


@pytest.mark.parametrize(
    ("plugin", "names"),
    [
        ("elmo_bench.encoders.bilm.FileBilm", ("token layer", "LSTM 1", "LSTM 2")),
        ("bert.Bert", ("layer 0", "layer 1", "layer 2")),
    ],
)
def test_only_a_bilm_has_lstms(tmp_path: Path, plugin: str, names: tuple[str, ...]) -> None:
    record = make_record("ner", 1, 20, ELMO)
    config = {**record.config, "encoder": {"plugin": plugin}}
    publish(tmp_path, record.model_copy(update={"config": config}), 20)
    assert table(build(tmp_path), "figure2").columns == ("Task", "Place", *names, "n")


def test_counts_of_another_version_of_a_task_are_not_tested_with(tmp_path: Path) -> None:
    for right, elmo in ((20, NONE), (30, ELMO)):
        scores = {split: {"macro_f1": 100 * right / 40} for split in ("dev", "test")}
        publish(tmp_path, make_record("ner", 1, right, elmo, metric="macro_f1", scores=scores), right)
    report = build(tmp_path)
    assert row(table(report, "table1"), "NER", "+ ELMo")["Gain"].value == pytest.approx(25)
    assert any("do not make the score of its record" in warning for warning in report.warnings)


def test_a_size_that_was_chosen_is_part_of_the_command(tmp_path: Path) -> None:
    for size in ("open", "by_default", "paper", "quick"):
        place = {"source": "open", "corpus": "wikigold", "size": size, "identity": {"size": size}}
        publish(tmp_path, make_record("ner", 1, 20, NONE, **place), 20)
    report = build(tmp_path, sizes={"paper", "quick"})
    (section,) = (section for section in report.sections if section.name == "table1")
    chosen = {command.rpartition(" ")[2] for found in section.tables for command in found.commands}
    assert chosen == {"data=open", "size=paper", "size=quick"}


def test_one_table_has_all_tasks_of_a_source_whatever_their_corpora(tmp_path: Path) -> None:
    """In the order of the paper; a second corpus of a task has its own rows, and its own command."""
    places = [("ner", "wnut17", 30), ("ner", "wikigold", 32), ("snli", "part", 28)]
    for task, corpus, right in places:
        for elmo, fewer in ((NONE, 4), (ELMO, 0)):
            if (corpus, elmo) != ("wnut17", ELMO):
                place: dict[str, Any] = {"source": "open", "corpus": corpus, "size": "open"}
                place["identity"] = {"data_sha256": {"test": corpus}}
                publish(tmp_path, make_record(task, 1, right - fewer, elmo, **place), right - fewer)
    (section,) = (section for section in build(tmp_path).sections if section.name == "table1")
    (found,) = section.tables
    tasks = list(dict.fromkeys(cells[0].lines for cells in found.rows))
    assert tasks == [
        ("SQuAD", "part"), ("SNLI", "part"), ("SRL", "ewt"), ("Coref", "ontogum"),
        ("NER", "wikigold"), ("NER", "wnut17"), ("SST-5", "sst"),
    ]  # fmt: skip
    assert row(found, "NER; wikigold", "+ ELMo")["Gain"].value == pytest.approx(10)
    assert row(found, "NER; wnut17", "baseline")["Here"].value == pytest.approx(65)
    assert row(found, "NER; wnut17", "+ ELMo")["Here"].kind == "missing"
    start = "python run.py -m +experiment=table1 task="
    assert found.commands == (
        f"{start}squad,srl,coref,sst5 data=open encoder=sample",
        f"{start}ner data=open data.corpus=wnut17 encoder=sample",
    )


def as_before_carried_states(record: PerplexityRecord) -> PerplexityRecord:
    """What was recorded when long sentences were cut and only fresh states were measured."""
    measured = record.streams["text"]
    cut = {"carried": None, "longest": 120}
    older = BeforeAndAfter(
        before=measured.before.model_copy(update=cut), after=measured.after.model_copy(update=cut)
    )
    return record.model_copy(update={"streams": {"text": older}})


def test_the_same_records_make_the_same_bytes(records: Path) -> None:
    first, second = build(records), build(records)
    for write in (write_markdown, write_latex, write_csv, write_page):
        assert write(first) == write(second)


def evil_report() -> Report:
    cells = ((Cell((EVIL,)), Cell((EVIL, EVIL), "missing")),)
    one = Table("evil", EVIL, EVIL, (EVIL, EVIL), cells, (EVIL,), (EVIL,), heads=("task",))
    return Report(EVIL, (Section("evil", EVIL, EVIL, (one,)),), (EVIL,), (EVIL,))


def test_html_never_takes_data_for_markup() -> None:
    page = write_page(evil_report())
    assert re.findall("<script.*", page) == ["<script>"]  # our own
    texts: list[str] = []

    class Reader(HTMLParser):
        def handle_data(self, data: str) -> None:
            texts.append(data)

    Reader().feed(page)
    assert sum(text == EVIL for text in texts) >= 8


def test_the_page_needs_nothing_from_elsewhere(records: Path) -> None:
    page = write_page(build(records))
    assert not re.search(r'(src|srcset)="', page)
    assert not re.search(r'href="(/|\w+:)', page)  # links to files are relative
    assert "@import" not in page
    assert "url(" not in page
    assert "fetch(" not in page and "import(" not in page
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(drawing)  # well-formed
    anchors, targets = set(re.findall(r'href="#([^"]+)"', page)), set(re.findall(r'id="([^"]+)"', page))
    assert anchors <= targets


def test_markdown_never_takes_data_for_markup() -> None:
    text = write_markdown(evil_report())
    body = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in body)
    assert escape_markdown("a|b*c\nd<e>&") == "a\\|b\\*c d\\<e\\>&amp;"
    assert "\n```bash\n<script>" in text  # inside a fence of one line, which nothing in it can end


def test_latex_prints_what_would_be_commands() -> None:
    assert escape_latex(r"50% of a_b & {c} \d ^~#$ λ ±") == (
        r"50\% of a\_\allowbreak{}b \& \{c\} \textbackslash{}d "
        r"\textasciicircum{}\textasciitilde{}\#\$ $\lambda$ $\pm$"
    )
    for line in write_latex(evil_report()).splitlines():
        if line.startswith(r"\label"):
            assert re.fullmatch(r"\\label\{tab:[a-z0-9-]+\}", line)
            continue
        assert (
            line.startswith("%") or "alert" not in line or r"\$y\_\allowbreak{}1\textasciicircum{}2\$" in line
        )


def test_csv_holds_no_formulas() -> None:
    assert [escape_csv(text) for text in ("=1+1", "@x", "+11.15", "-cmd", "plain")] == [
        "'=1+1", "'@x", "+11.15", "'-cmd", "plain",
    ]  # fmt: skip
    lines = list(csv.reader(io.StringIO(write_csv(evil_report()))))
    assert len({len(line) for line in lines}) == 1
    assert lines[1].count(EVIL) == 3  # block, task and column


def test_without_records_the_command_says_what_to_do(tmp_path: Path, capsys: Any) -> None:
    assert main(["report", f"paths.records={tmp_path}", "--output", str(tmp_path / "out")]) == 3
    error = capsys.readouterr().err
    assert "no published runs" in error
    assert "+experiment=table1" in error
    assert not (tmp_path / "out").exists()


def test_the_command_writes_its_files(records: Path, tmp_path: Path, capsys: Any) -> None:
    output = tmp_path / "out"
    assert main(["report", f"paths.records={records}", "--output", str(output), "--resamples", "100"]) == 0
    assert sorted(path.name for path in output.iterdir()) == [
        "TABLES.md",
        "details",
        "index.html",
        "runs.csv",
        "tables.csv",
        "tables.tex",
    ]
    # the records name NER's plug-in, which scores by chunks: their accuracies cannot be made of such counts
    assert "warning:" in capsys.readouterr().out
