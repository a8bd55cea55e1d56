"""How well biLMs predict the words of tasks, before and after they were trained on with a task's text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def summarise_perplexities(models: Sequence[Mapping[str, Any]]) -> str:
    """One line per dev text of every model."""
    return "\n".join(line for model in models for line in _lines(model))


def _lines(model: Mapping[str, Any]) -> list[str]:
    tuned = model.get("finetuned", {})
    where = f"{tuned.get('task', 'held-out')} on {tuned.get('corpus', 'text')}"
    return [
        f"{where}, {stream}: perplexity {values['before']['average']:.2f} before, "
        f"{values['after']['average']:.2f} after fine-tuning of {tuned['encoder']}"
        for stream, values in model.get("streams", {}).items()
    ]
