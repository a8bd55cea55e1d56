"""One reading of the command line: Hydra composes, the typed configuration decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hydra.types import RunMode

from elmo_bench import directories
from elmo_bench.cli.main import main
from elmo_bench.directories import CONF
from elmo_bench.sweep import pretraining
from elmo_bench.sweep.arguments import read_arguments
from elmo_bench.sweep.compose import Composer, open_composer
from elmo_bench.sweep.jobs import read_choices
from elmo_bench.sweep.launch import select
from elmo_bench.sweep.printing import print_once
from elmo_bench.sweep.scripts import RUNS, TRAININGS, launch_runs, launch_training
from elmo_bench.types import UsageError
from tests.support.caches import copy_cache
from tests.support.composition import compose
from tests.support.processes import places

Launch = Callable[..., int]
Output = pytest.CaptureFixture[str]


def make_text(root: Path) -> Path:
    """The text of a pre-training."""
    text = root / "text"
    text.mkdir()
    for name in ("train.txt", "heldout.txt"):
        (text / name).write_text("Ann met Bo .\n")
    return text


@pytest.fixture
def launch(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Launch]:
    """run.py in this process; it must start no run."""
    copy_cache(world, tmp_path)
    from elmo_bench.runs import execution

    def fail(*_: object) -> None:
        raise AssertionError("a run was started")

    monkeypatch.setattr(execution, "run_job", fail)
    monkeypatch.setattr(directories, "_own", [])
    yield lambda *words: launch_runs("Usage.", [*words, *places(tmp_path)])
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("plan", ["plan=1", "plan=yes", "plan=on", "plan=True", "++plan=true"])
@pytest.mark.parametrize("sweep", [(), ("-m",)])
def test_every_form_of_true_plans(launch: Launch, capsys: Output, plan: str, sweep: tuple[str, ...]) -> None:
    assert launch("task=ner", "elmo=none", plan, *sweep) == 0
    assert "1 runs: 0 done, 1 missing" in capsys.readouterr().out


def test_what_is_no_truth_value_is_refused(launch: Launch, capsys: Output) -> None:
    assert launch("task=ner", "plan=perhaps") == 2
    assert "error: plan: input should be a valid boolean" in capsys.readouterr().err


def test_a_plan_says_that_an_encoder_is_still_to_be_made(launch: Launch, capsys: Output) -> None:
    print_once.cache_clear()
    assert launch("task=ner", "elmo=none,paper", "seed=1,2", "plan=true", "-m") == 0
    note = "encoder sample: the first run that reads it makes it; published runs are found only then\n"
    assert capsys.readouterr().out.count(note) == 1


@pytest.mark.parametrize("words", [("debug=null",), ("debug=null", "-m")])
def test_null_means_no_choice_of_a_group(launch: Launch, capsys: Output, words: tuple[str, ...]) -> None:
    assert launch("task=ner", "elmo=none", "plan=true", *words) == 0
    assert "1 missing" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("task=null",),
        ("task.training.epochs=3",),
        ("elmo=none", "--cfg", "job"),
        ("-m", "elmo=none,paper"),
    ],
)
def test_a_missing_task_is_asked_for(launch: Launch, capsys: Output, words: tuple[str, ...]) -> None:
    assert launch(*words) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: choose a task: task=coref (there are: coref, ner, pos,")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("task=nerr",), "task=nerr: there is no such choice; did you mean 'ner'?"),
        (("taks=ner",), "taks: there is no such key; did you mean 'task'?"),
        (("task=ner", "task.training.epoch=3"), "there is no such key; did you mean 'task.training.epochs'?"),
        (("task=ner", "limit=x"), "limit: input should be a valid integer"),
        (("task=ner,pos",), "task=ner,pos: several values are a sweep: add -m\n"),
        (
            ("task=ner", "data.train=/x/a,b.conll"),
            "add -m; a value that is text is given as \"data.train='/x/a,b.conll'\"\n",
        ),
        (("experiment=table1",), "experiment: there is no such key; -m +experiment=NAME starts the sweep"),
        (("ner",), "ner: expected KEY=VALUE"),
        (("task==ner",), "task==ner: expected KEY=VALUE"),
        (("täsk=ner",), "täsk=ner: expected KEY=VALUE"),
        (
            ("task=ner", "data.train=Müller[1].conll"),
            "expected quotes around a value that is text: \"data.train='Müller[1].conll'\"\n",
        ),
        (
            ("-m", "task=ner", "data.train=Müller.conll,b.conll"),
            "that is text, in a sweep around each of them: \"data.train='Müller.conll,b.conll'\"\n",
        ),
        (
            ("task=ner", "data.train=a=ü"),
            "in it, such as \"KEY=['task=ner','seed=1']\" or \"data.train='a=ü'\"",
        ),
        (("task=ner", "data.train=~/a"), 'the shell replaces no ~ there: data.train="$HOME"/a'),
        (("task=ner", "seed=range(x)"), "seed=range(x): expected quotes around a value that is text"),
        (("-m", "task=ner", "+a=[seed=1]"), "+a=[seed=1]: expected quotes around a value that has = in it"),
        (
            ("task=ner", "task=srl"),
            "task=ner task=srl: expected one of them (a sweep over both: -m task=A,B)",
        ),
        (("task=ner", "seed=1", "-m", "++seed=2,3"), "seed=1 ++seed=2,3: expected one of them"),
        (("task=ner", "bilm=tiny"), "bilm: there is no such key; bilm@encoder.bilm=NAME changes the biLM"),
        (
            ("task=ner", "hydra/launcher=parallel"),
            "hydra/launcher=parallel: only sweeps have a launcher: add -m",
        ),
        (("task=ner", "encoder.device=nowhere"), "encoder.device=nowhere: PyTorch cannot use it"),
        (("task=",), "task=: there is no such choice"),
        (("task=ner", "elmo.layers=each"), "elmo.layers=each: several values are a sweep: add -m"),
        (("task=ner", "--package", "elmo"), "--package and --resolve: they say what --cfg prints"),
        (("-m", "task=ner", "elmo=none,paper", "--cfg", "job"), "--cfg and --info show one job"),
        (("task=ner", "data.corpus=chess", "plan=true"), "data.corpus=chess: task ner has no such corpus"),
        (("task=ner", "debug=true"), "debug=true: there is no such choice (there are: fast)"),
        (("-m", "task=ner", "elmo=1,none"), "elmo=1: there is no such choice (there are: "),
        (("task=ner", "~task.elmo.where"), "task.elmo.where: a value is needed (elmo.where reads it)"),
        (("-m", "+experiment=tabel1"), "experiment=tabel1: there is no such choice; did you mean 'table1'?"),
        (("-m", "task=ner", "seed=interval(1,2)"), "expected values to try, separated by commas"),
        (("task=ner", "--config-dir", "nowhere"), "--config-dir nowhere: no such directory"),
        (
            ("-m", "task=ner", "hydra.sweeper.primary=pretrain"),
            "expected one of config, finetune",
        ),
    ],
)
def test_a_wrong_word_is_answered_in_a_line(
    launch: Launch, capsys: Output, words: tuple[str, ...], message: str
) -> None:
    assert launch(*words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("error: ") and "Traceback" not in error


@pytest.mark.parametrize("value", ["Müller.conll", "data (1).conll", "a#1", "b~", "c:(d", "é\\"])
def test_a_path_is_taken_with_characters_that_the_grammar_lacks(value: str) -> None:
    words = ("task=ner", "data=files", f"data.train={value}", "data.dev=b", "data.test=c")
    assert compose(*words)["data"]["train"] == value
    with open_composer() as composer:
        choices = read_choices(composer.parse, [f"data.train={value}", "seed=1,2"])
        assert choices["seed"] == ["seed=1", "seed=2"]
        assert [one.value() for one in composer.parse(choices["data.train"])] == [value]


def test_a_directory_of_such_a_name_is_taken_by_every_command(tmp_path: Path, capsys: Output) -> None:
    assert main(["summary", f"paths.records={tmp_path / 'Müller (1)'}"]) == 3
    assert f"{tmp_path / 'Müller (1)'}: no records" in capsys.readouterr().err


def test_flags_and_overrides_come_in_any_order() -> None:
    found = read_arguments(["task=ner", "-m", "~debug", "--config-dir", "mine", "elmo=none,paper"])
    assert found.overrides == ("task=ner", "~debug", "elmo=none,paper")
    assert found.sweep and found.directories == (Path("mine"),)


def test_an_unknown_flag_is_a_usage_error(capsys: Output) -> None:
    with pytest.raises(SystemExit, match="2"):
        read_arguments(["task=ner", "--plan"])
    assert "unrecognized arguments: --plan" in capsys.readouterr().err


def test_the_configuration_is_shown(launch: Launch, capsys: Output) -> None:
    assert launch("task=ner", "seed=7", "--cfg", "job") == 0
    assert "seed: 7" in capsys.readouterr().out
    assert launch("task=ner", "--cfg", "job", "--package", "elmo", "--resolve") == 0
    assert "lambda: 0.1" in capsys.readouterr().out


def test_help_names_the_choices_of_every_directory(launch: Launch, capsys: Output, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "experiment").mkdir(parents=True)
    (mine / "experiment" / "of_mine.yaml").write_text("hydra: {sweeper: {params: {seed: 1}}}\n")
    assert launch("--help", "--config-dir", str(mine)) == 0
    output = capsys.readouterr().out
    assert output.startswith("Usage.\n")
    assert "task              coref ner pos snli squad srl sst5 wsd" in output
    assert " of_mine " in output and " table1 " in output
    assert "--cfg job|hydra|all" in output


def test_help_lists_no_group_that_no_command_line_can_choose() -> None:
    refused = []
    with open_composer() as composer:
        for script in (RUNS, TRAININGS):
            for word, group in script.groups.items():
                _, words = select(script, composer, [f"{word}={composer.choices(group)[0]}"])
                if not any(is_accepted(composer, primary, words) for primary in script.kinds):
                    refused.append(word)
        assert not is_accepted(composer, "config", ["findings=controls"])
    assert refused == []


def is_accepted(composer: Composer, primary: str, words: list[str]) -> bool:
    try:
        composer.load(primary, words, RunMode.MULTIRUN)
    except UsageError:
        return False
    return True


def test_a_package_that_does_not_exist_is_a_usage_error(launch: Launch, capsys: Output) -> None:
    assert launch("task=ner", "--cfg", "job", "--package", "elm") == 2
    assert "error: --package elm: expected a key of the configuration" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["task/ner", "size/ner_sample", "experiment/table1", "words/glove"])
def test_a_file_of_ones_own_never_hides_one_of_ours(
    launch: Launch, capsys: Output, tmp_path: Path, name: str
) -> None:
    mine = tmp_path / "mine" / f"{name}.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("name: mine\n")
    assert launch("task=ner", "plan=true", "--config-dir", str(tmp_path / "mine")) == 2
    assert f"{mine}: " in (error := capsys.readouterr().err)
    assert "has this name already; choose another one" in error


def test_a_size_of_a_task_and_a_source_is_used_without_being_named(
    launch: Launch, capsys: Output, tmp_path: Path
) -> None:
    first, second = tmp_path / "first" / "task", tmp_path / "second" / "size"
    for directory in (first, second):
        directory.mkdir(parents=True)
    text = (CONF / "task" / "pos.yaml").read_text(encoding="utf-8")
    (first / "mine.yaml").write_text(text.replace("name: pos", "name: mine"))
    (second / "mine_sample.yaml").write_text("# @package _global_\nsize: little\n")
    directories_given = [word for path in (first, second) for word in ("--config-dir", str(path.parent))]
    assert launch("task=mine", "--cfg", "job", *directories_given) == 0
    assert "size: little" in capsys.readouterr().out


def test_an_experiment_of_ones_own_is_planned(launch: Launch, capsys: Output, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "experiment").mkdir(parents=True)
    (mine / "experiment" / "of_mine.yaml").write_text(
        "# @package _global_\nhydra: {sweeper: {params: {seed: '1,2', task: ner, elmo: none}}}\nlimit: 5\n"
    )
    assert launch("-m", "+experiment=of_mine", "--config-dir", str(mine), "plan=true") == 0
    assert "2 runs: 0 done, 2 missing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("experiment", "hydra:\n", "mine.yaml: hydra: expected keys and values, got None"),
        (
            "experiment",
            "hydra: {sweeper: [1]}\n",
            "hydra.sweeper: expected keys and values, got [1]",
        ),
        (
            "experiment",
            "hydra: {sweeper: {table: 3}}\n",
            "hydra.sweeper.table: expected keys and values, got 3",
        ),
        (
            "experiment",
            "hydra: {sweeper: {params: , table: {title: t}}}\n",
            "hydra.sweeper.params: expected keys and values, got None",
        ),
        ("task", "{name: mine, sources: }\n", "task mine: sources: expected keys and values, got None"),
        (
            "task",
            "{name: mine, sources: {open: }}\n",
            "task mine: sources.open: expected keys and values",
        ),
    ],
)
def test_a_group_that_is_none_is_named(
    name: str, text: str, message: str, capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "_own", [])
    (tmp_path / name).mkdir()
    (tmp_path / name / "mine.yaml").write_text(text)
    assert main(["findings", "--config-dir", str(tmp_path), f"paths.records={tmp_path}"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("group", ["experiment", "task"])
def test_a_tab_in_a_file_of_ones_own_is_named_with_its_line(
    launch: Launch, capsys: Output, tmp_path: Path, group: str
) -> None:
    mine = tmp_path / "mine" / group / "tabbed.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("name: tabbed\nsettings:\n\tdropout: 0.1\n")
    words = ["-m", "+experiment=tabbed"] if group == "experiment" else ["task=tabbed"]
    assert launch(*words, "plan=true", "--config-dir", str(mine.parents[1])) == 2
    error = capsys.readouterr().err
    assert f"{mine}:3: expected YAML" in error and "not with a tab\n" in error


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("debug=fats", "debug=fats: there is no such choice; did you mean 'fast'? (there are: fast)"),
        ("size=ner_smaple", "size=ner_smaple: there is no such choice; did you mean 'ner_sample'?"),
        ("elmo=las", "elmo=las: there is no such choice; did you mean 'last'?"),
    ],
)
@pytest.mark.parametrize("sweep", [(), ("-m",)])
def test_a_choice_that_does_not_exist_is_refused_in_every_group(
    launch: Launch, capsys: Output, word: str, message: str, sweep: tuple[str, ...]
) -> None:
    assert launch("task=ner", word, "plan=true", *sweep) == 2
    assert message in capsys.readouterr().err


def test_a_directory_of_ones_own_never_hides_a_key(
    launch: Launch, capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "_own", [])
    corpus = tmp_path / "mine" / "corpus" / "ner" / "chess.yaml"
    corpus.parent.mkdir(parents=True)
    corpus.write_text("{format: columns, train: a, dev: b, test: c, licence: none}\n")
    (tmp_path / "mine" / "limit").mkdir()
    own = ["--config-dir", str(tmp_path / "mine")]
    assert launch("task=ner", "elmo=none", "limit=60", "plan=true", *own) == 0
    words = ["bilm=tiny", f"corpus={make_text(tmp_path)}", "plan=true", f"paths.models={tmp_path}", *own]
    assert launch_training("", words) == 0, capsys.readouterr().err


def test_jobs_that_differ_in_their_seed_have_it_wherever_it_is_read() -> None:
    words = ["task=ner", "+tracking.group=group-${seed}"]
    with open_composer() as composer:
        values = [composer.job_values("config", [*words, f"seed={seed}"]) for seed in (3, 4)]
        alone = composer.values("config", [*words, "seed=4"])
    assert [value["tracking"]["group"] for value in values] == ["group-3", "group-4"]
    assert values[1] == alone


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "choose a bilm: bilm=medium"),
        (("finetune=nerr",), "finetune=nerr: there is no such choice; did you mean 'ner'?"),
        (("bilm=tiny",), "corpus: a value is needed; give corpus=..."),
        (("bilm=tiny", "task=ner"), "task: there is no such key; encoder=NAME finetune=TASK trains"),
        (("encoder=sample", "bilm=tiny"), "encoder: there is no such key; encoder=NAME finetune=TASK trains"),
        (("finetune=ner", "bilm=tiny"), "bilm: there is no such key; bilm@encoder.bilm=NAME changes"),
        (
            ("bilm=tiny", "corpus=.", "bilm.epochs=2"),
            "bilm: expected either epochs or steps, got epochs=2.0 and steps=30; set the other to null, such "
            "as bilm.steps=20 bilm.epochs=null\n",
        ),
        (("bilm=tiny", "corpus=.", "plan=true", "vocabulary=absent"), "got absent"),
        (("bilm=tiny", "corpus=.", "name=1.5"), "name: input should be a valid string, got 1.5"),
    ],
)
def test_pretraining_says_what_is_missing(capsys: Output, words: tuple[str, ...], message: str) -> None:
    assert launch_training("", words) == 2
    assert message in capsys.readouterr().err


def test_a_plan_says_that_the_text_of_a_pretraining_is_missing(capsys: Output, tmp_path: Path) -> None:
    words = ["bilm=tiny", f"corpus={tmp_path / 'absent'}", "plan=true", f"paths.models={tmp_path}"]
    assert launch_training("", words) == 3
    assert f"{tmp_path / 'absent'}: no such directory (config key corpus)" in capsys.readouterr().err


def test_a_word_may_be_given_twice(launch: Launch, capsys: Output) -> None:
    assert launch("task=ner", "elmo=none", "task=ner", "plan=true") == 0
    assert "1 runs" in capsys.readouterr().out


def test_a_name_may_be_a_number(tmp_path: Path, capsys: Output) -> None:
    words = ["bilm=tiny", f"corpus={make_text(tmp_path)}", "name=2024"]
    assert launch_training("", [*words, "plan=true", f"paths.models={tmp_path}"]) == 0
    assert "1 missing" in capsys.readouterr().out
    command = pretraining.KIND.read(compose(*words, entry="pretrain"))
    assert command.name == "2024"


def test_pretraining_and_finetuning_are_planned(capsys: Output, world: Path, tmp_path: Path) -> None:
    copy_cache(world, tmp_path)
    models = f"paths.models={tmp_path / 'models'}"
    text = make_text(tmp_path)
    assert launch_training("", ["bilm=tiny", f"corpus={text}", "plan=yes", models]) == 0
    assert "1 of pre-training of tiny" in capsys.readouterr().out
    assert launch_training("", ["-m", "finetune=ner,pos", "plan=yes", models, *places(tmp_path)]) == 0
    assert "2 runs: 0 done, 2 missing" in capsys.readouterr().out
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["task=sst5", "encoder.context=document"], "world (train) does not name its documents"),
        (
            ["task=pos", "encoder=words", "tuning=task"],
            "has no softmax weights, so it cannot be trained further",
        ),
    ],
)
def test_a_plan_refuses_what_only_files_can_tell(
    words: list[str], message: str, capsys: Output, world: Path, tmp_path: Path
) -> None:
    copy_cache(world, tmp_path)
    (tmp_path / "vectors.txt").write_text("the 1 2\n")
    own = [f"encoder.file={tmp_path / 'vectors.txt'}"] if "encoder=words" in words else []
    assert launch_runs("", [*words, *own, "plan=true", *places(tmp_path)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r":1: expected the line '# @package _global_', without which nothing"),
        (b"hydra: {sweeper: {params: {task: ner}}}", r":1: expected the line '# @package _global_'"),
        (b"# @package _global_\nx: 1\n", r": expected hydra\.sweeper\.params, the values to try; got none"),
        (b"# @package _global_\n# caf\xe9\nhydra: {}\n", r":2: expected UTF-8, got the byte 0xe9; convert"),
        (
            b"# @package _global_\nhydra: {sweeper: {params: {task: ner}, table: {titel: x}}}\n",
            r"hydra\.sweeper\.table\.titel: there is no such key; did you mean 'title'\?",
        ),
    ],
)
def test_a_file_that_is_no_experiment_is_refused_before_anything_runs(
    content: bytes,
    message: str,
    launch: Launch,
    capsys: Output,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(directories, "_own", [])
    (tmp_path / "own" / "experiment").mkdir(parents=True)
    (tmp_path / "own" / "experiment" / "mine.yaml").write_bytes(content)
    assert launch("-m", "+experiment=mine", "--config-dir", str(tmp_path / "own"), "plan=true") == 2
    assert re.search(message, capsys.readouterr().err)


def test_another_group_that_is_no_utf8_is_named(
    launch: Launch, capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "_own", [])
    (tmp_path / "own" / "size").mkdir(parents=True)
    (tmp_path / "own" / "size" / "mine.yaml").write_bytes(b"# caf\xe9\n")
    assert launch("task=ner", "size=mine", "--config-dir", str(tmp_path / "own"), "plan=true") == 2
    assert "mine.yaml:1: expected UTF-8, got the byte 0xe9" in capsys.readouterr().err
