"""The data of a run for trackers, with the keys that dashboards sort, group and filter by."""

from __future__ import annotations

from typing import Any

from elmo_bench.conditions import describe_method
from elmo_bench.config import RunConfig
from elmo_bench.records import Record
from elmo_bench.run.preparation import Prepared
from elmo_bench.run.tracking import RunLabel


def label_run(config: RunConfig, prepared: Prepared) -> RunLabel:
    """Name, group and tags; tags serve to filter runs."""
    tags = [config.task.name, prepared.corpus.source, f"size:{config.size}"]
    if prepared.encoder is None:
        tags.append("baseline")
    else:
        elmo = config.elmo
        tags += [f"encoder:{prepared.encoder.card.name}", f"where:{elmo.where}", f"layers:{elmo.layers}"]
    return RunLabel(
        name=f"{config.task.name} {_method(config, prepared)} seed {config.seed}",
        group=f"{config.task.name}-{prepared.condition}",
        tags=tuple(tags),
    )


def describe_run(config: RunConfig, prepared: Prepared) -> dict[str, Any]:
    """The configuration without the machine's paths, plus values derived from it."""
    values = config.model_dump(mode="json", by_alias=True, exclude={"paths": True, "task": {"sources"}})
    return {
        **values,
        "condition": prepared.condition,
        "method": _method(config, prepared),
        "source": prepared.corpus.source,
        "corpus": prepared.corpus.name,
        "fraction": config.data.fraction,
        "metric": prepared.task.metric,
        "task_name": config.task.name,
        "encoder_name": prepared.encoder.card.name if prepared.encoder else "none",
    }


def _method(config: RunConfig, prepared: Prepared) -> str:
    """The condition; two encoders of one name differ by the first digits of their fingerprints."""
    if prepared.tuned:
        return describe_method(config, prepared.tuned.base_fingerprint)
    return describe_method(config, prepared.encoder.card.fingerprint if prepared.encoder else None)


def summarise_run(record: Record) -> dict[str, Any]:
    """Scores of dev and test under one name for every task, layer weights and gammas."""
    summary: dict[str, Any] = {}
    for split, values in record.scores.items():
        summary[f"{split}/score"] = values[record.metric]
        summary |= {f"{split}/{name}": value for name, value in values.items() if ":" not in name}
    for place, learnt in record.learnt.items():
        summary[f"elmo/{place}/gamma"] = learnt["gamma"]
        for layer, weight in record.layer_weights(place).items():
            summary[f"elmo/{place}/layer_{layer}"] = weight
    summary |= {"best_epoch": record.best_epoch, "seconds": sum(record.seconds.values())}
    return summary | {f"parameters/{part}": count for part, count in record.parameters.items()}
