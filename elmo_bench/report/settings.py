"""Settings of conditions, said once where all conditions of a task and corpus share them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from elmo_bench.report.labels import name_apart
from elmo_bench.report.model import ConditionDetail

Settings = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Family:
    """Conditions of one task, source, corpus and size, and the settings that they share."""

    name: str
    title: str
    conditions: tuple[str, ...]
    shared: Settings

    def own(self, one: ConditionDetail) -> Settings:
        """What a condition of the family has beside them."""
        return tuple(setting for setting in one.settings if setting not in self.shared)


def group_settings(conditions: Iterable[ConditionDetail]) -> Iterator[Family]:
    """The families of these conditions; what stands alone shares nothing."""
    groups: dict[str, list[ConditionDetail]] = defaultdict(list)
    for one in conditions:
        groups[f"{one.task}, {one.setting}"].append(one)
    for name, (title, group) in zip(name_apart(groups), groups.items(), strict=True):
        yield Family(name, title, tuple(one.condition for one in group), _shared(group))


def _shared(group: Sequence[ConditionDetail]) -> Settings:
    if len(group) == 1:
        return ()
    first, *others = group
    return tuple(setting for setting in first.settings if all(setting in one.settings for one in others))
