"""Overrides of a sweep whose key only some of the swept choices have."""

from __future__ import annotations

from collections.abc import Sequence

from hydra.errors import HydraException

from elmo_bench.sweep.compose import Composer
from elmo_bench.types import Log


def drop_foreign_keys(
    composer: Composer, primary: str, jobs: Sequence[list[str]], log: Log
) -> list[list[str]]:
    """Every job without the keys of a swept group that its own choice lacks and another choice has.

    So `encoder=small,transformer encoder.model=DIR` is a sweep over both. A key that no choice has stays: it
    is a mistake, which the job reports.
    """
    sweep = _Sweep(composer, primary, jobs)
    for key in sweep.foreign:
        log(
            f"{key}: only for {', '.join(sweep.owners(key))}; the other choices of the sweep have no such key"
        )
    return [[word for word in job if not sweep.is_foreign(word, job)] for job in jobs]


class _Sweep:
    """Which keys the choices of the swept groups have."""

    def __init__(self, composer: Composer, primary: str, jobs: Sequence[list[str]]) -> None:
        self._composer, self._primary = composer, primary
        keys = dict.fromkeys(_key(word) for job in jobs for word in job if "." in _key(word))
        self._known: dict[str, dict[str, set[str]]] = {}  # by group and choice, of those that exist
        for group in dict.fromkeys(map(_group, keys)):
            examples = {_choice(group, job): job for job in jobs}
            if len(examples) > 1:
                found = {choice: self._find_keys(job) for choice, job in examples.items()}
                self._known[group] = {choice: own for choice, own in found.items() if own}
        self.foreign = [key for key in keys if self._is_of_some(key)]

    def is_foreign(self, word: str, job: Sequence[str]) -> bool:
        """Whether a word of a job sets a key that other choices have."""
        if (key := _key(word)) not in self.foreign:
            return False
        known = self._known[_group(key)].get(_choice(_group(key), job))
        return known is not None and key not in known

    def owners(self, key: str) -> list[str]:
        """The choices that have a key."""
        group = _group(key)
        return [choice or f"the usual {group}" for choice, own in self._known[group].items() if key in own]

    def _is_of_some(self, key: str) -> bool:
        found = [key in own for own in self._known.get(_group(key), {}).values()]
        return any(found) and not all(found)

    def _find_keys(self, job: list[str]) -> set[str]:
        """No key for a choice that does not exist, which the job itself reports."""
        try:
            return self._composer.known_keys(self._primary, job)
        except HydraException:
            return set()


def _key(word: str) -> str:
    return word.partition("=")[0]


def _group(key: str) -> str:
    return key.partition(".")[0]


def _choice(group: str, job: Sequence[str]) -> str:
    """The word with which a job chooses a file of a group; empty where it is the usual one."""
    return next((word for word in job if _key(word) == group), "")
