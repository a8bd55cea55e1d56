"""A dotted path is checked before it is called, and every wrong setting is named."""

from __future__ import annotations

import importlib
from abc import ABC
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from elmo_bench.catalog import list_plugins, list_tasks, read_task
from elmo_bench.encoders.find import load_plugin
from elmo_bench.encoders.protocol import EncoderPlugin
from elmo_bench.plugins import (
    declared_version,
    fill_settings,
    find_class,
    find_version,
    import_class,
    load_task,
)
from elmo_bench.task import Task
from elmo_bench.types import UsageError
from tests.support.composition import run_config


class Base(ABC):  # noqa: B024
    """What plug-ins declare themselves to be."""


@dataclass(frozen=True)
class Sized(Base):
    size: int
    mode: Literal["fast", "slow"] = "fast"


class NoSettings(Base):
    """Lacks the decorator."""


CALLED: list[str] = []


def call_me(**_: object) -> None:
    CALLED.append("called")


def test_a_class_that_declares_itself_is_found() -> None:
    assert import_class(f"{__name__}.Sized", Base, "encoder.plugin") is Sized


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (f"{__name__}.Base", "expected a subclass of"),
        (f"{__name__}.call_me", "expected a subclass of"),
        ("os.system", "expected a subclass of"),
        (f"{__name__}.Missing", "cannot be loaded"),
        ("no_such_module.Sized", "cannot be loaded.*no_such_module"),
        ("Sized", "cannot be loaded"),
    ],
)
def test_whatever_else_a_path_leads_to_is_refused(path: str, message: str) -> None:
    with pytest.raises(UsageError, match=rf"^encoder\.plugin={path}: {message}"):
        import_class(path, Base, "encoder.plugin")


@pytest.mark.parametrize("name", list_tasks())
def test_a_version_is_read_without_importing_the_plug_in(name: str) -> None:
    config = read_task(name)
    assert declared_version(config.plugin) == load_task(config).version


class Inherits(Sized):
    """Its source does not say its version."""


class Computes(Base):
    version = len("1")


@pytest.mark.parametrize("path", [f"{__name__}.Inherits", f"{__name__}.Computes", "Sized", "no.such.Class"])
def test_a_version_that_no_source_declares_is_left_to_the_import(path: str) -> None:
    assert declared_version(path) is None


def test_an_imported_plug_in_knows_its_version_best(monkeypatch: pytest.MonkeyPatch) -> None:
    config = read_task("ner")
    monkeypatch.setattr(type(load_task(config)), "version", 7)
    assert find_version(config) == 7


def test_a_task_plug_in_is_checked_before_it_is_called() -> None:
    with pytest.raises(UsageError, match=r"expected a subclass of elmo_bench\.task\.Task"):
        import_class(f"{__name__}.call_me", Task, "task.plugin")
    assert not CALLED


def test_only_classes_that_a_file_names_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    config = run_config("task=ner")
    monkeypatch.setattr(importlib, "import_module", pytest.fail)
    task = config.task.model_copy(update={"plugin": "subprocess.getoutput", "settings": {"cmd": "true"}})
    with pytest.raises(UsageError, match=r"^task\.plugin=subprocess\.getoutput: no file of conf/task names"):
        load_task(task)
    encoder = config.encoder.model_copy(update={"plugin": "runpy.run_path"})
    with pytest.raises(UsageError, match=r"^encoder\.plugin=runpy\.run_path: no file of conf/encoder names"):
        load_plugin(encoder)


def test_every_class_that_a_file_names_is_imported() -> None:
    for group, base in (("task", Task), ("encoder", EncoderPlugin)):
        for path in list_plugins(group).values():
            assert base in find_class(path, base, group).__mro__


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 1, "mod": "slow"}, r"^encoder\.mod: there is no such key; did you mean 'mode'\?$"),
        ({}, r"^encoder\.size: a value is needed$"),
        ({"size": "many"}, r"^encoder\.size: .*integer.*got 'many'$"),
        ({"size": 1, "mode": "medium"}, r"^encoder\.mode: .*'fast' or 'slow'.*got 'medium'$"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fill_settings(Sized, settings, "encoder")


def test_settings_are_typed() -> None:
    assert fill_settings(Sized, {"size": "3"}, "encoder") == Sized(3, "fast")


def test_a_class_without_fields_of_its_own_is_refused() -> None:
    with pytest.raises(UsageError, match=r"NoSettings must be a dataclass"):
        fill_settings(NoSettings, {}, "encoder")


LACKING = """
from dataclasses import dataclass
from pathlib import Path
from elmo_bench.encoders.protocol import EncoderPlugin
from elmo_bench.task import Task

@dataclass(frozen=True)
class Mood(Task):
    metric = "accuracy"
    higher_is_better = True
    def read(self, files): ...

@dataclass(frozen=True)
class Bert(EncoderPlugin): ...
"""


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ("x = 1\ndef (:\n", "Mood", r"cannot be loaded \(.*odd_syntax\.py:2: .*; mend this line\)"),
        ("x = 1\n1 / 0\n", "Mood", r"cannot be loaded \(.*odd_division\.py:2: ZeroDivisionError: "),
        (LACKING, "Mood", r"the class has no version, build_head, .*score.*docs/EXTENDING\.md"),
        (LACKING, "Bert", r"the class has no find, which every subclass of .*EncoderPlugin needs"),
    ],
    ids=["syntax", "division", "task", "encoder"],
)
def test_a_module_or_class_that_does_not_fit_is_named(
    source: str,
    name: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    module = f"odd_{request.node.callspec.id}"
    (tmp_path / f"{module}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    base = EncoderPlugin if name == "Bert" else Task
    with pytest.raises(UsageError, match=rf"^task\.plugin={module}\.{name}: {message}"):
        import_class(f"{module}.{name}", base, "task.plugin")
    declared_version(f"{module}.{name}")  # leaves what cannot be parsed to the import


@dataclass(frozen=True)
class Strange(Base):
    size: Base


def test_a_field_that_cannot_be_checked_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^encoder: a field of .*Strange has a type"):
        fill_settings(Strange, {"size": 3}, "encoder")
