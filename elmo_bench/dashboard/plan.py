"""Which panels the dashboard has: plain values that are read, tested and written without an account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SCORE = "dev/score"
PLACES = ("input", "output")
LAYERS = 3  # of a biLM: the token layer and two LSTMs


@dataclass(frozen=True)
class PanelPlan:
    """One chart: some metrics, averaged over the runs that one key of their configuration makes alike."""

    kind: Literal["bars", "lines", "points"]  # points: a summary against a value of the configuration
    title: str
    metrics: tuple[str, ...]
    group_by: str = "method"  # a key of a run's configuration
    x: str = "epoch"  # of lines and points


@dataclass(frozen=True)
class SectionPlan:
    """Some panels about one task, with what they show and the command that fills them."""

    title: str
    text: str
    command: str
    tasks: tuple[str, ...]
    panels: tuple[PanelPlan, ...]


def plan_dashboard(tasks: Sequence[str]) -> list[SectionPlan]:
    """Tables 1 to 3, Figures 1 and 2, and the learning curves, for the tasks there are."""

    def those(*wanted: str) -> tuple[str, ...]:
        return tuple(task for task in wanted if task in tasks) or tuple(tasks)

    def scores(title: str, metric: str = SCORE) -> tuple[PanelPlan, ...]:
        return (PanelPlan("bars", title, (metric,)),)

    ablated = those("squad", "snli", "srl")
    return [
        SectionPlan(
            "Table 1: without and with ELMo",
            "Test scores, means over seeds with their standard deviation.",
            "python run.py -m +experiment=table1 tracking=wandb",
            those("squad", "snli", "srl", "coref", "ner", "sst5"),
            scores("test score", "test/score"),
        ),
        SectionPlan(
            "Table 2: which layers",
            "Dev scores: the last layer alone, all with lambda 1 (nearly average), all with lambda 0.001.",
            "python run.py -m +experiment=table2 tracking=wandb",
            ablated,
            scores("dev score by layers and lambda"),
        ),
        SectionPlan(
            "Table 3: where ELMo is added",
            "Dev scores: before the first RNN, after it, at both places.",
            "python run.py -m +experiment=table3 tracking=wandb",
            ablated,
            scores("dev score by place"),
        ),
        SectionPlan(
            "Figure 1: sample efficiency",
            "Dev scores on nested parts of the training set, a logarithmic axis.",
            "python run.py -m +experiment=figure1 tracking=wandb",
            those("snli", "srl"),
            (PanelPlan("points", "dev score by fraction", (SCORE,), x="fraction"),),
        ),
        SectionPlan(
            "Figure 2: layer weights",
            "s = softmax(w) at each place where ELMo is added; a third each is where training starts.",
            "python run.py -m +experiment=figure2 tracking=wandb",
            tuple(tasks),
            tuple(PanelPlan("bars", f"layer weights at {place}", weights_at(place)) for place in PLACES),
        ),
        SectionPlan(
            "Learning curves",
            "Dev score and training loss after every epoch.",
            "python run.py -m task=ner elmo=none,paper seed=1,2,3 tracking=wandb",
            tuple(tasks),
            (PanelPlan("lines", "dev score", ("dev",)), PanelPlan("lines", "training loss", ("loss",))),
        ),
    ]


def weights_at(place: str) -> tuple[str, ...]:
    """The summary's names of the layer weights of one place."""
    return tuple(f"elmo/{place}/layer_{layer}" for layer in range(LAYERS))
