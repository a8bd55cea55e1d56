"""What every task of conf/task must satisfy; a new task is tested as soon as its file is there."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from elmo_bench import sources
from elmo_bench.catalog import list_documented, read_task
from elmo_bench.plugins import load_task
from elmo_bench.task import AnyTask, Documented, Example, Task
from elmo_bench.testing import check_task
from elmo_bench.testing.tasks import check_examples, check_excerpts, check_gold
from elmo_bench.types import Counts, Scores
from tests.support.composition import TASKS, run_config

EXAMPLES = 16


@cache
def examples_of(task: str, root: Path, split: str) -> tuple[AnyTask, tuple[Example, ...]]:
    config = run_config(f"task={task}", root=root)
    corpus = sources.prepare(config.task, config.data, config.paths, log=lambda _: None)
    plugin = load_task(config.task)
    return plugin, tuple(plugin.read(corpus.files[split]))


@pytest.mark.parametrize("task", TASKS)
def test_the_contract_holds(task: str, world: Path) -> None:
    plugin, examples = examples_of(task, world, "dev")
    check_task(plugin, examples[:EXAMPLES])


@pytest.mark.parametrize("split", sources.SPLITS)
@pytest.mark.parametrize("task", TASKS)
def test_all_examples_of_the_world_are_sound(task: str, split: str, world: Path) -> None:
    plugin, examples = examples_of(task, world, split)
    check_examples(plugin, examples)
    check_excerpts(plugin, examples)
    check_gold(plugin, examples)


@pytest.mark.parametrize("split", sources.SPLITS)
@pytest.mark.parametrize("task", TASKS)
def test_conf_says_whether_the_world_has_documents(task: str, split: str, world: Path) -> None:
    plugin, examples = examples_of(task, world, split)
    found = [plugin.excerpts(row) is not None for row in examples if isinstance(plugin, Documented)]
    is_documented = f"{task}/world" in list_documented()
    assert found == [is_documented] * len(examples) or not (found or is_documented)


@pytest.mark.parametrize("task", TASKS)
def test_a_mean_of_scores_of_single_examples_is_caught(task: str, world: Path) -> None:
    plugin, examples = examples_of(task, world, "dev")
    # examples without an entity, argument or chain score 0 by themselves, so there gold is no longer perfect
    caught = "must be a function of summed counts|the gold answers, scored against themselves"
    with pytest.raises(AssertionError, match=caught):
        check_task(averaging(plugin), examples[:EXAMPLES])


def averaging(task: AnyTask) -> AnyTask:
    """The same task, whose score is the mean of the scores of single rows."""
    kind = type(task)

    class Averaging(kind):  # type: ignore[misc,valid-type]
        def score(self, counts: Sequence[Counts]) -> Scores:
            rows = [super(Averaging, self).score([row]) for row in counts]
            names = {name for row in rows for name in row}
            return {name: sum(row.get(name, 0.0) for row in rows) / len(rows) for name in names}

    changed = copy.copy(task)
    object.__setattr__(changed, "__class__", Averaging)
    return changed


def test_a_task_that_lacks_a_function_cannot_be_made() -> None:
    class Unfinished(Task[Example]):
        pass

    with pytest.raises(TypeError, match="build_head, count, gold, index, read"):
        Unfinished()  # type: ignore[abstract]


@pytest.mark.parametrize("task", TASKS)
def test_no_setting_has_a_second_value_in_python(task: str) -> None:
    """The values are in conf/task; Python has types and ranges only."""

    def check(settings: object, where: str) -> None:
        for field in dataclasses.fields(settings):  # type: ignore[arg-type]
            name = f"{where}.{field.name}"
            assert field.default is dataclasses.MISSING, name
            assert field.default_factory is dataclasses.MISSING, name
            value = getattr(settings, field.name)
            if dataclasses.is_dataclass(value):
                check(value, name)

    check(load_task(read_task(task)), task)
