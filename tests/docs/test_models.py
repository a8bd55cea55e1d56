"""docs/MODELS.md states the settings that the configuration has, each with a source."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from elmo_bench.catalog import list_tasks, read_task
from elmo_bench.config import ClipConfig, OptimiserConfig, TrainingConfig
from elmo_bench.plugins import load_task
from tests.conftest import PROJECT
from tests.support.markdown import read_page, section, table_rows

PAGE = read_page("docs/MODELS.md")
GROUPS = {"training.optimiser": OptimiserConfig, "training.clip": ClipConfig}


def documented(task: str) -> dict[str, tuple[Any, str]]:
    """Setting to (value, source), from the task's table of settings."""
    rows = table_rows(section(PAGE, task))
    start = rows.index(("setting", "value", "source")) + 2
    found: dict[str, tuple[Any, str]] = {}
    for cells in rows[start:]:
        if len(cells) != 3 or not cells[0].startswith("`"):
            break
        key = cells[0].strip("`")
        assert key not in found, f"{task}: {key} is documented twice"
        value = plain(yaml.safe_load(cells[1]))
        if key in GROUPS:
            value = GROUPS[key](**value).model_dump()
        found[key] = (value, cells[2])
    return found


def plain(value: Any) -> Any:
    """The same value with tuples as lists, as YAML has them."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def chosen(training: TrainingConfig) -> dict[str, Any]:
    """What a training has that is required or not at its default."""
    values = training.model_dump()
    return {
        name: values[name]
        for name, field in TrainingConfig.model_fields.items()
        if field.is_required() or values[name] != field.default
    }


def configured(name: str) -> dict[str, Any]:
    """Every setting of a task at the paper's size: the plug-in's, the training's, ELMo's, the words'."""
    config = read_task(name)
    task: Any = load_task(config)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(task):
        value = getattr(task, field.name)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            inner = dataclasses.asdict(value)
            values.update({f"{field.name}.{key}": plain(item) for key, item in inner.items()})
        else:
            values[field.name] = plain(value)
    values |= {f"training.{key}": value for key, value in chosen(config.training).items()}
    values |= {f"elmo.{key}": plain(v) for key, v in config.elmo.model_dump(by_alias=True).items()}
    return values | {f"words.{key}": plain(value) for key, value in config.words.items()}


@pytest.mark.parametrize("task", list_tasks())
def test_the_settings_are_those_of_the_configuration(task: str) -> None:
    stated = {key: value for key, (value, _) in documented(task).items()}
    expected = configured(task)
    optional = {
        f"training.{name}": plain(field.default)
        for name, field in TrainingConfig.model_fields.items()
        if not field.is_required()
    }
    for key in stated.keys() - expected.keys():  # a default may be stated
        assert key in optional and stated[key] == optional[key], f"{task}: {key} is not a setting"
    assert {key: stated.get(key, "missing") for key in expected} == expected


@pytest.mark.parametrize("task", list_tasks())
def test_every_setting_has_a_source(task: str) -> None:
    assert [key for key, (_, source) in documented(task).items() if not source] == []


def test_no_section_describes_a_task_that_is_gone() -> None:
    headings = {line[3:] for line in PAGE.splitlines() if line.startswith("## ")}
    known = {
        "Sources",
        "What all tasks share",
        "bilm",
        "cove",
        "transformer",
        "Tables and figures",
        "Comparing encoders",
        "What was compared with the references",
    }
    assert headings - known == set(list_tasks())


def test_every_experiment_is_mapped_to_the_paper() -> None:
    listed = section(PAGE, "Tables and figures")
    paper = [
        path.stem
        for path in (PROJECT / "conf" / "experiment").glob("*.yaml")
        if path.stem.startswith(("table", "figure"))
    ]
    assert [name for name in paper if f"`{name}`" not in listed] == []


def test_original_is_the_model_of_the_table() -> None:
    original = yaml.safe_load((PROJECT / "conf" / "bilm" / "original.yaml").read_text())
    text = section(PAGE, "bilm")
    assert original["architecture"]["highways"] == 2 and "highways     2 layers" in text
    assert original["vocabulary"] == 793_468 and "793,468 words and three markers" in text
    assert original["batches"]["rows"] == 384 and "384 streams (3 GPUs of 128) read 20 tokens" in text
    assert original["descent"]["lr"] == 0.2 and "Adagrad, learning rate 0.2, accumulator 1.0" in text
