"""Every verdict and every kind of effect, from records on disk to what a reader is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.catalog import list_choices, list_findings, list_tasks, read_task
from elmo_bench.config import FamilyConfig, FindingConfig, RunConfig, read_config
from elmo_bench.identity import identify
from elmo_bench.metrics.accuracy import score_accuracy
from elmo_bench.records import PerplexityRecord, Record, write_record
from elmo_bench.report.claims import Archive, conditions_of
from elmo_bench.report.comparison import Referee, Run
from elmo_bench.report.finding_rows import describe_findings, findings_as_json, write_findings
from elmo_bench.report.findings import Judged, judge_findings
from elmo_bench.report.inputs import describe_tasks
from elmo_bench.report.power import detectable_effect
from elmo_bench.report.published import Published, read_published
from elmo_bench.report.verdicts import Verdict
from elmo_bench.sweep.compose import open_composer
from elmo_bench.types import UsageError
from tests.support.report_records import ELMO, NONE, make_model, make_record, publish

RESAMPLES = 400
WORLD = ("sample", "world", "sample")
GAIN: dict[str, Any] = {
    "claim": "ELMo beats the baseline",
    "tasks": ["ner"],
    "first": {"elmo.where": "none"},
    "direction": "greater",
    "test": "seeds and examples",
}


def make_family(*findings: dict[str, Any], **changes: Any) -> FamilyConfig:
    """A family of findings about NER."""
    named = {f"finding_{number}": finding for number, finding in enumerate(findings)}
    return read_config(FamilyConfig, {"title": "A family", "findings": named, **changes})


def judge(directory: Path, family: FamilyConfig, source: str = "sample") -> list[Judged]:
    """The verdicts on the records of a directory."""
    published = read_published(directory)
    records = [run.record for run in published.runs]
    tasks, _ = describe_tasks({name: read_task(name) for name in list_tasks()}, {}, records)
    referee = Referee({record.task: score_accuracy for record in records}, RESAMPLES)
    return judge_findings({"own": family}, published, referee, tasks, source)


def publish_pairs(directory: Path, *pairs: tuple[int, int], **changes: Any) -> None:
    """A baseline and a run with ELMo for every seed, so many of their 40 examples right."""
    for seed, rights in enumerate(pairs, start=1):
        for elmo, right in zip((NONE, ELMO), rights, strict=True):
            publish(directory, make_record("ner", seed, right, elmo, **dict(changes)), right)


def verdict_on(directory: Path, **changes: Any) -> Judged:
    (one,) = judge(directory, make_family({**GAIN, **changes}))
    return one


CLEAR = ((10, 25), (11, 26), (9, 25))
MIXED = ((20, 22), (21, 20), (20, 21))


@pytest.mark.parametrize(
    ("pairs", "direction", "margin", "verdict"),
    [
        (CLEAR, "greater", 0, Verdict.HOLDS),
        (CLEAR, "smaller", 0, Verdict.CONTRARY),
        (MIXED, "greater", 0, Verdict.UNDETERMINED),
        (MIXED, "equivalent", 30, Verdict.HOLDS),
        (CLEAR, "equivalent", 5, Verdict.CONTRARY),
        (MIXED, "at least", 30, Verdict.HOLDS),
        (CLEAR, "at most", 5, Verdict.CONTRARY),
    ],
)
def test_a_verdict_from_published_records(
    tmp_path: Path, pairs: Sequence[tuple[int, int]], direction: str, margin: float, verdict: Verdict
) -> None:
    publish_pairs(tmp_path, *pairs)
    one = verdict_on(tmp_path, direction=direction, margin=margin)
    assert one.verdict == verdict
    assert one.seeds == 3 and one.commands == ()
    assert one.effect is not None
    assert one.effect.value == pytest.approx(100 * sum(b - a for a, b in pairs) / 3 / 40)


def test_undetermined_names_what_could_have_been_seen(tmp_path: Path) -> None:
    publish_pairs(tmp_path, *MIXED)
    one = verdict_on(tmp_path)
    assert one.detectable is not None and one.detectable > 0
    printed = "\n".join(describe_findings("sample", [one], {"own": make_family(GAIN)}))
    assert f"{one.detectable:+.2f} would have been shown with 80 % power" in printed


def test_two_seeds_are_too_few_and_the_third_is_named(tmp_path: Path) -> None:
    publish_pairs(tmp_path, *CLEAR[:2])
    one = verdict_on(tmp_path)
    assert (one.verdict, one.p, one.interval) == (Verdict.UNDETERMINED, None, None)
    assert one.untested == "its test needs 3 seeds, there are 2"
    assert [str(command) for command in one.commands] == [
        "python run.py -m task=ner data=sample seed=3 elmo.where=none",
        "python run.py -m task=ner data=sample encoder=sample seed=3",
    ]


@pytest.mark.parametrize("side", [NONE, ELMO])
def test_one_run_at_its_cap_forbids_a_verdict(tmp_path: Path, side: dict[str, Any]) -> None:
    publish_pairs(tmp_path, *CLEAR)
    publish(tmp_path, make_record("ner", 1, 20, side, stopped="cap"), 20)
    one = verdict_on(tmp_path)
    assert (one.verdict, one.p, one.interval) == (Verdict.NOT_CONVERGED, None, None)
    assert one.untested == "1 of 6 runs met their cap on epochs"


def test_what_was_not_run_names_the_command_of_both_conditions(tmp_path: Path) -> None:
    one = verdict_on(tmp_path)
    assert (one.verdict, one.effect) == (Verdict.NOT_RUN, None)
    assert [str(command) for command in one.commands] == [
        "python run.py -m task=ner data=sample seed=1,2,3 elmo.where=none",
        "python run.py -m task=ner data=sample seed=1,2,3",
    ]


def test_a_command_for_files_of_your_own_asks_for_them(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        publish(tmp_path, make_record("ner", seed, 20, NONE, source="files", corpus="own"), 20)
    (one,) = judge(tmp_path, make_family({**GAIN, "second": {"elmo.layers": "last"}}), "files")
    files = "data.train=FILE data.dev=FILE data.test=FILE"
    assert [str(command) for command in one.commands] == [
        f"python run.py -m task=ner data=files {files} seed=1,2,3 elmo.layers=last"
    ]


def test_a_side_that_is_there_is_not_run_again(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        changes = {"source": "open", "corpus": "wikigold", "size": "open"}
        publish(tmp_path, make_record("ner", seed, 20, NONE, **changes), 20)
    (one,) = judge(tmp_path, make_family({**GAIN, "second": {"elmo.layers": "last"}}), "open")
    assert one.verdict == Verdict.NOT_RUN
    (command,) = map(str, one.commands)
    assert command == "python run.py -m task=ner data=open data.corpus=wikigold seed=1,2,3 elmo.layers=last"


def test_a_test_without_counts_is_not_made(tmp_path: Path) -> None:
    publish_pairs(tmp_path, *CLEAR)
    next(tmp_path.rglob("*.npz")).unlink()
    one = verdict_on(tmp_path)
    assert one.verdict == Verdict.UNDETERMINED
    assert "needs the counts" in one.untested


def test_runs_of_other_settings_are_never_compared(tmp_path: Path) -> None:
    other = {"task": {"name": "ner", "lr": 0.1}}
    for seed, (before, after) in enumerate(CLEAR, start=1):
        publish(tmp_path, make_record("ner", seed, before, NONE), before)
        publish(tmp_path, make_record("ner", seed, after, ELMO, identity=other), after)
    assert verdict_on(tmp_path).verdict == Verdict.NOT_RUN


def test_settings_that_both_sides_have_come_before_newer_ones_of_one_side(tmp_path: Path) -> None:
    publish_pairs(tmp_path, *CLEAR)
    newer = {"task_version": 2}
    publish(tmp_path, make_record("ner", 1, 40, ELMO, identity=newer), 40)
    assert verdict_on(tmp_path).verdict == Verdict.HOLDS


def test_runs_without_word_vectors_are_never_the_usual_ones(tmp_path: Path) -> None:
    publish_pairs(tmp_path, *CLEAR)
    for seed in range(1, 9):  # more runs than there are with word vectors
        publish(tmp_path, make_record("ner", seed, 30, ELMO, identity={"words": {"kind": "none"}}), 30)
    found = judge(tmp_path, make_family(GAIN, {**GAIN, "second": {"words": "none"}}))
    assert [one.verdict for one in found] == [Verdict.HOLDS, Verdict.HOLDS]
    assert [one.effect and one.effect.second for one in found] == [pytest.approx(63.333, abs=0.001), 75.0]


def test_converged_runs_come_before_more_runs_at_their_cap(tmp_path: Path) -> None:
    publish_pairs(tmp_path, *CLEAR, *CLEAR, stopped="cap")
    longer = {"task": {"name": "ner", "training": {"epochs": 100}}}
    publish_pairs(tmp_path, *CLEAR, stopped="patience", identity=longer)
    one = verdict_on(tmp_path)
    assert (one.verdict, one.seeds) == (Verdict.HOLDS, 3)


@pytest.mark.parametrize("usual", [1, 2, 3, 4])
def test_settings_of_most_runs_come_before_those_of_a_row_that_varies_one(tmp_path: Path, usual: int) -> None:
    for value in (1, 2, 3, 4):  # whichever is the usual one: no order of names decides
        pairs = CLEAR if value == usual else ((25, 10), (26, 11), (25, 9))
        settings = {"task": {"name": "ner", "settings": {"varied": value}}}
        publish_pairs(tmp_path, *pairs, identity=settings)
        if value == usual:
            publish(tmp_path, make_record("ner", 1, 20, {**ELMO, "layers": "last"}, identity=settings), 20)
    assert verdict_on(tmp_path).verdict == Verdict.HOLDS


def test_what_could_have_been_seen_is_that_of_one_test_among_its_family(tmp_path: Path) -> None:
    publish_pairs(tmp_path, *MIXED)
    alone = verdict_on(tmp_path)
    among = judge(tmp_path, make_family(GAIN, GAIN, GAIN))[0]
    assert alone.effect and alone.effect.estimate
    estimate = alone.effect.estimate
    assert (alone.tests, among.tests) == (1, 3)
    assert alone.detectable == detectable_effect(estimate.error, estimate.freedom, 0.05)
    assert among.detectable == detectable_effect(estimate.error, estimate.freedom, 0.05 / 3)


def test_p_values_of_a_family_are_adjusted_for_the_tests_that_were_made(tmp_path: Path) -> None:
    publish_pairs(tmp_path, *CLEAR)
    last = {**ELMO, "layers": "last"}
    for seed, right in enumerate((12, 13, 9), start=1):
        publish(tmp_path, make_record("ner", seed, right, last), right)
    not_run = {**GAIN, "second": {"elmo.where": "output"}}
    found = judge(tmp_path, make_family(GAIN, {**GAIN, "second": {"elmo.layers": "last"}}, not_run))
    smaller, larger = sorted(one.p for one in found if one.p is not None)
    assert [one.adjusted_p for one in found] == [2 * smaller, max(2 * smaller, larger), None]


def test_the_test_is_the_one_that_was_fixed(tmp_path: Path) -> None:
    publish_pairs(tmp_path, *CLEAR)
    one = verdict_on(tmp_path, test="examples")
    assert one.verdict == Verdict.UNDETERMINED
    assert one.untested == "its test is over examples, the runs have one over seeds and examples"


def test_a_probe_without_chance_needs_one_seed(tmp_path: Path) -> None:
    for elmo, right in ((NONE, 10), (ELMO, 25)):
        publish(tmp_path, make_record("ner", 1, right, elmo, stopped="one pass"), right)
    one = verdict_on(tmp_path, test="examples")
    assert (one.verdict, one.seeds) == (Verdict.HOLDS, 1)


def test_the_findings_are_about_a_bilm_however_many_runs_another_encoder_has(tmp_path: Path) -> None:
    bilm = {
        **make_record("ner", 1, 1, NONE).config,
        "encoder": {"name": "small", "plugin": "elmo_bench.encoders.bilm.DirectoryBilm"},
    }
    other = {"encoder_fingerprint": "w" * 64}
    publish_pairs(tmp_path, *CLEAR, config=bilm)
    for seed in range(1, 9):
        publish(tmp_path, make_record("ner", seed, 1, ELMO, encoder="words", identity=other), 1)
    one = verdict_on(tmp_path)
    assert (one.verdict, one.seeds) == (Verdict.HOLDS, 3)
    assert one.setting == "world, size sample, sample"


@pytest.mark.parametrize("twin", ["untrained", "untrained_sample"])
def test_a_control_is_the_twin_of_the_encoder_and_never_taken_for_it(twin: str, tmp_path: Path) -> None:
    publish_pairs(tmp_path, *CLEAR)
    control = {"encoder_fingerprint": "u" * 64}
    stranger = {"encoder_fingerprint": "v" * 64}
    for seed in range(1, 9):  # more runs than the encoder has
        publish(tmp_path, make_record("ner", seed, 11, ELMO, encoder=twin, identity=control), 11)
        publish(tmp_path, make_record("ner", seed, 1, ELMO, encoder="untrained_small", identity=stranger), 1)
        publish(
            tmp_path, make_record("ner", seed + 9, 1, ELMO, encoder="untrained_small", identity=stranger), 1
        )
    trained = {**GAIN, "first": {"encoder.untrained": True}}
    found = judge(tmp_path, make_family(GAIN, trained))
    assert [one.verdict for one in found] == [Verdict.HOLDS, Verdict.HOLDS]
    effect = found[1].effect
    assert effect is not None and effect.first == pytest.approx(100 * 11 / 40)


def steps(*rows: tuple[float, float]) -> list[dict[str, float]]:
    return [{"epoch": n, "step": step, "loss": 1.0, "dev": dev} for n, (step, dev) in enumerate(rows)]


UPDATES = {**GAIN, "kind": "updates", "direction": "smaller", "test": "seeds"}


def publish_curves(directory: Path, *passed_at: float | None) -> None:
    """Baselines that are best after 200 updates, and runs that pass them after so many, or never."""
    for seed, step in enumerate(passed_at, start=1):
        before = steps((100, 40.0), (200, 60.0), (300, 50.0))
        after = steps((10, 30.0), (step, 61.0)) if step else steps((10, 30.0), (400, 59.0))
        publish(directory, make_record("ner", seed, 20, NONE, curve=before, stopped="patience"), 20)
        publish(directory, make_record("ner", seed, 24, ELMO, curve=after, stopped="patience"), 24)


def test_updates_until_the_baselines_best_is_passed(tmp_path: Path) -> None:
    publish_curves(tmp_path, 20, 22, 25)
    one = verdict_on(tmp_path, **UPDATES)
    assert one.verdict == Verdict.HOLDS
    (row,) = findings_as_json([one])
    assert row["effect"] == pytest.approx((20 * 22 * 25 / 200**3) ** (1 / 3))
    assert (row["first"], row["second"]) == (200, pytest.approx(67 / 3))
    assert 0 < row["interval"][0] < row["effect"] < row["interval"][1] < 1


def test_a_run_that_never_passes_speaks_against_fewer_updates(tmp_path: Path) -> None:
    publish_curves(tmp_path, 20, 22, None)
    one = verdict_on(tmp_path, **UPDATES)
    assert one.verdict == Verdict.UNDETERMINED
    publish_curves(tmp_path / "never", None, None, None)
    assert verdict_on(tmp_path / "never", **UPDATES).verdict == Verdict.CONTRARY


@pytest.mark.parametrize(
    ("weights", "verdict"),
    [
        (([0.2, 0.5, 0.3], [0.2, 0.52, 0.28], [0.25, 0.5, 0.25]), Verdict.HOLDS),
        (([0.6, 0.2, 0.2], [0.6, 0.22, 0.18], [0.62, 0.2, 0.18]), Verdict.CONTRARY),
        (([0.2, 0.5, 0.3], [0.5, 0.2, 0.3], [0.3, 0.35, 0.35]), Verdict.UNDETERMINED),
    ],
)
def test_a_layer_is_compared_with_the_heaviest_of_the_others(
    tmp_path: Path, weights: Sequence[list[float]], verdict: Verdict
) -> None:
    for seed, row in enumerate(weights, start=1):
        learnt = {"input": {"weights": row, "gamma": 1.0}}
        publish(tmp_path, make_record("ner", seed, 24, ELMO, learnt=learnt), 24)
    single = {key: value for key, value in GAIN.items() if key != "first"}
    family = make_family({**single, "kind": "layer_weight", "layer": 1, "test": "seeds"})
    (one,) = judge(tmp_path, family)
    assert one.verdict == verdict
    assert one.effect is not None
    expected = sum(row[1] - max(row[0], row[2]) for row in weights) / 3
    assert one.effect.value == pytest.approx(expected)


def perplexity(seed: int, before: float, after: float) -> PerplexityRecord:
    model = make_model(seed=seed)
    text = model["streams"]["text"]
    text["before"]["average"], text["after"]["average"] = before, after
    known = PerplexityRecord.model_fields.keys() & model.keys()
    return PerplexityRecord.model_validate({**{key: model[key] for key in known}, "kind": "perplexity"})


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        (((100.0, 50.0), (101.0, 52.0), (99.0, 49.0)), Verdict.HOLDS),
        (((100.0, 150.0), (101.0, 152.0), (99.0, 149.0)), Verdict.CONTRARY),
        (((100.0, 101.0), (101.0, 99.0), (99.0, 99.5)), Verdict.UNDETERMINED),
        (((100.0, 50.0),), Verdict.UNDETERMINED),
        ((), Verdict.NOT_RUN),
    ],
)
def test_perplexity_in_proportion_to_before(
    tmp_path: Path, figures: Sequence[tuple[float, float]], verdict: Verdict
) -> None:
    for seed, (before, after) in enumerate(figures, start=1):
        write_record(tmp_path / f"{seed}.json", perplexity(seed, before, after))
    finding = {
        "claim": "lower", "tasks": ["ner"], "kind": "perplexity", "direction": "smaller", "test": "seeds",
        "paper": {"first": "tables/table7_arxiv_dev_perplexity/{text}/before"},
    }  # fmt: skip
    (one,) = judge(tmp_path, make_family(finding, experiment="table7_perplexity"), "open")
    assert (one.verdict, one.subject) == (verdict, "NER")  # on another corpus than the paper's row
    assert not figures or one.setting.endswith("sentences from fresh states")
    assert one.paper["first"]["value"] == 103.2
    choice = "data.corpus=wikigold encoder=small seed=2,3" if figures else "seed=1,2,3"
    command = f"python run.py -m task=ner +experiment=table7_perplexity data=open {choice}"
    assert [str(one) for one in one.commands] == ([] if len(figures) == 3 else [command])


def test_the_same_finding_about_two_models_is_two_lines_of_markdown(tmp_path: Path) -> None:
    for encoder in ("small", "large"):
        record = perplexity(1, 100.0, 50.0)
        finetuned = record.finetuned.model_copy(update={"encoder": encoder})
        write_record(tmp_path / f"{encoder}.json", record.model_copy(update={"finetuned": finetuned}))
    finding = {
        "claim": "lower",
        "tasks": ["ner"],
        "kind": "perplexity",
        "direction": "smaller",
        "test": "seeds",
    }
    table = write_findings(judge(tmp_path, make_family(finding), "open"))
    names = [line.split(" | ")[0] for line in table.splitlines() if "lower" in line]
    reading = "sentences from fresh states"
    assert names == [f"| NER: lower (wikigold, {encoder}, {reading})" for encoder in ("large", "small")]


def test_a_finetuning_that_met_its_cap_before_dev_text_stopped_improving_has_not_converged(
    tmp_path: Path,
) -> None:
    for seed in (1, 2, 3):
        record = perplexity(seed, 100.0 + seed, 50.0)
        ended = {"stopped": "cap" if seed == 2 else "patience", "best_step": 40}
        write_record(tmp_path / f"{seed}.json", record.model_copy(update=ended))
    finding = {
        "claim": "lower",
        "tasks": ["ner"],
        "kind": "perplexity",
        "direction": "smaller",
        "test": "seeds",
    }
    (one,) = judge(tmp_path, make_family(finding), "open")
    assert (one.verdict, one.untested) == (Verdict.NOT_CONVERGED, "1 of 3 runs met their cap on epochs")


def test_findings_about_one_source_are_left_out_of_others(tmp_path: Path) -> None:
    publish_pairs(tmp_path, *CLEAR)
    family = make_family(GAIN, sources=["sample"])
    assert len(judge(tmp_path, family)) == 1
    assert judge(tmp_path, family, "open") == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"second": {"elmo.lamda": 1}},
            "elmo.lamda: a finding cannot vary this; did you mean 'elmo.lambda'?",
        ),
        ({"second": {"seed": 1}}, "own.finding_0.second.seed: a finding cannot vary this"),
        ({"second": {"words": "glove"}}, "words=glove: expected none"),
        ({"tasks": ["nerr"]}, "own.finding_0.tasks: there is no task 'nerr'; did you mean 'ner'?"),
        ({"metric": "f1"}, "metric f1 of 'ELMo beats the baseline': expected one of accuracy"),
        ({"paper": {"first": "tables/table99/{task}"}}, "paper.first=tables/table99/{task}: the paper's"),
    ],
)
def test_a_condition_that_cannot_be_searched_is_named(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    publish_pairs(tmp_path, *CLEAR)
    with pytest.raises(UsageError) as raised:
        verdict_on(tmp_path, **changes)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first": None}, "kind score needs first condition"),
        ({"kind": "layer_weight"}, "kind layer_weight has no first condition"),
        ({"direction": "equivalent"}, "direction 'equivalent' does not go with margin 0"),
        ({"margin": 1.0}, "direction 'greater' does not go with margin 1"),
        ({"direction": "more"}, "findings.finding_0.direction"),
    ],
)
def test_a_finding_that_cannot_be_tested_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        make_family({**GAIN, **changes})
    assert message in str(raised.value)


def composed_record(values: dict[str, Any]) -> Record:
    """The record of a run with this configuration."""
    config = read_config(RunConfig, values)
    encoder = None if config.elmo.where == "none" else config.encoder.full_name
    identity = identify(config, 1, {"test": "7" * 64}, encoder and f"fingerprint of {encoder}", None)
    return make_record(
        config.task.name,
        1,
        20,
        NONE,
        identity=identity,
        encoder=encoder,
        config=config.model_dump(mode="json", by_alias=True),
    )


def test_every_finding_finds_the_runs_that_its_conditions_make() -> None:
    """Hydra composes both sides of every finding: a task, key or value that does not exist is refused."""
    families = list_findings()
    made: dict[tuple[str, ...], Record] = {}
    with open_composer() as composer:
        for name, finding in named_findings(families):
            conditions = conditions_of(finding, name)
            for task in finding.tasks:
                lines = [(f"task={task}", "data=sample", *one.overrides) for one in conditions if one]
                for line in lines:
                    if line not in made:
                        made[line] = composed_record(composer.values("config", line))
                runs = tuple(Run(made[line], Path()) for line in lines)
                sides = Archive(Published(runs, (), (), ())).find(WORLD, task, *conditions)
                found = [
                    run.record.condition for seeds in (sides.first, sides.second) for run in seeds.values()
                ]
                assert found == [made[line].condition for line in lines], (name, task)
                assert len(set(found)) == len(found), (name, task)


def named_findings(families: Mapping[str, FamilyConfig]) -> Iterator[tuple[str, FindingConfig]]:
    for family, config in families.items():
        for name, finding in config.findings.items():
            yield f"{family}.{name}", finding


def test_every_finding_names_numbers_that_the_paper_has() -> None:
    families = list_findings()
    tasks, _ = describe_tasks({name: read_task(name) for name in list_tasks()}, {}, [])
    assert tasks.keys() >= {task for _, finding in named_findings(families) for task in finding.tasks}
    nothing = Published((), (), (), ())
    judged = judge_findings(families, nothing, Referee({}), tasks, "sample")
    assert {one.verdict for one in judged} == {Verdict.NOT_RUN}
    assert all(one.commands for one in judged)
    for one in judged:
        assert one.paper.keys() == one.config.paper.keys()
        assert all("value" in entry and "verified" in entry for entry in one.paper.values())
        assert bool(one.config.section) == (one.family != "controls"), one.name
    experiments = {family.experiment for family in families.values() if family.experiment}
    assert experiments <= list_choices("experiment").keys()


def test_the_findings_of_the_issue_are_all_there() -> None:
    """What issue 13 lists, by the number of tasks or texts."""
    tasks, _ = describe_tasks({name: read_task(name) for name in list_tasks()}, {}, [])
    judged = judge_findings(list_findings(), Published((), (), (), ()), Referee({}), tasks, "sample")
    counts: dict[str, int] = {}
    for one in judged:
        counts[one.name] = counts.get(one.name, 0) + 1
    assert counts == {
        "elmo_beats_baseline": 6,
        "last_layer_beats_baseline": 3,
        "all_layers_beat_last": 3,
        "small_lambda_beats_large": 3,
        "ner_ignores_lambda": 1,
        "both_beat_input": 2,
        "both_beat_output": 2,
        "input_beats_both": 1,
        "input_beats_output": 1,
        "output_costs_coreference": 1,
        "senses_layer_2_beats_1": 1,
        "senses_layer_2_beats_0": 1,
        "senses_layer_2_beats_first_sense": 1,
        "tags_layer_1_beats_2": 1,
        "tags_layer_1_beats_0": 1,
        "tenth_of_the_data": 1,
        "fewer_updates": 1,
        "layer_1_weighs_most": 5,
        "finetuning_lowers_perplexity": 5,
        "words_add_little": 3,
        "characters_beat_words": 3,
        "context_beats_characters": 3,  # not in the issue
        "context_beats_layer_0": 6,
        "training_beats_untrained": 6,
        "untrained_adds_nothing": 6,
    }
