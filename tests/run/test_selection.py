"""Which part of a split a run uses, and that too small a part is refused."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from elmo_bench.config import DataConfig
from elmo_bench.run.selection import choose_examples
from elmo_bench.types import UsageError


@dataclass(frozen=True)
class Numbered:
    id: str


WHOLE = [Numbered(str(number)) for number in range(600)]


def chosen(**data: float) -> list[str]:
    config = DataConfig.model_validate({"source": "sample", **data})
    return [example.id for example in choose_examples("train", WHOLE, config, None)]


def test_smaller_parts_lie_within_larger_ones() -> None:
    assert len(chosen(fraction=0.1)) == 60
    assert set(chosen(fraction=0.1)) < set(chosen(fraction=0.5)) < set(chosen())
    assert chosen(fraction=0.1) == chosen(fraction=0.5, limit=60)


def test_a_training_set_below_the_least_is_refused() -> None:
    assert len(chosen(fraction=0.1, least=60)) == 60
    with pytest.raises(UsageError, match=r"data\.fraction=0\.1: expected at least 61 .* got 60 of 600"):
        chosen(fraction=0.1, least=61)
    assert len(choose_examples("dev", WHOLE, DataConfig(source="sample", least=700), None)) == 600
