"""What the configuration offers: tasks, corpora and sizes, read from the files of conf."""

from __future__ import annotations

from pathlib import Path

from omegaconf import OmegaConf

from elmo_bench.config import TaskConfig, read_config

CONF = Path(__file__).parent / "conf"


def list_tasks() -> list[str]:
    """Every task there is a file for."""
    return sorted(path.stem for path in (CONF / "task").glob("*.yaml"))


def read_task(name: str) -> TaskConfig:
    """What a task's file says, as no size has changed it."""
    values = OmegaConf.to_container(OmegaConf.load(CONF / "task" / f"{name}.yaml"), resolve=True)
    assert isinstance(values, dict)
    return read_config(TaskConfig, {str(key): value for key, value in values.items()}, "task")


def list_corpora() -> dict[str, dict[str, frozenset[str]]]:
    """Which corpora every task can be run on, by source."""
    corpora = {}
    for task in list_tasks():
        sources = OmegaConf.load(CONF / "task" / f"{task}.yaml").sources
        corpora[task] = {
            str(name): frozenset(map(str, source)) - {"default"} for name, source in sources.items()
        }
    return corpora
