"""The data of a run for trackers, with the keys that dashboards sort, group and filter by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elmo_bench.catalog import list_tables
from elmo_bench.conditions import describe_method
from elmo_bench.config import RunConfig, read_config
from elmo_bench.records import Record, drop_directories
from elmo_bench.report.series import row_scores, scope, scope_of
from elmo_bench.runs.preparation import Prepared
from elmo_bench.runs.tracking import RunLabel, find_sweep


@dataclass(frozen=True)
class Tracked:
    """What a tracker is told before the first step; known of a finished run, too."""

    config: RunConfig
    condition: str
    source: str
    corpus: str
    metric: str
    encoder: str | None
    fingerprint: str | None  # of the encoder, before any fine-tuning

    @property
    def method(self) -> str:
        """The condition; two encoders of one name differ by the first digits of their fingerprints."""
        return describe_method(self.config, self.fingerprint)

    @property
    def scope(self) -> str:
        """What the names of its numbers begin with."""
        is_trial = self.config.limit is not None or self.config.debug is not None
        return scope(self.config.task.name, self.source, self.corpus, is_trial)


def track_prepared(config: RunConfig, prepared: Prepared) -> Tracked:
    """A run that begins."""
    card = prepared.encoder.card if prepared.encoder else None
    fingerprint = prepared.tuned.base_fingerprint if prepared.tuned else card.fingerprint if card else None
    return Tracked(
        config,
        prepared.condition,
        prepared.corpus.source,
        prepared.corpus.name,
        prepared.task.metric,
        card.name if card else None,
        fingerprint,
    )


def track_record(record: Record, missing: Mapping[str, Any]) -> Tracked:
    """A finished run; `missing` are parts of the configuration that published records lack."""
    encoder = {"name": record.encoder or "none", "plugin": "unknown", **record.config.get("encoder", {})}
    values = {**missing, **record.config, "encoder": encoder}
    config = read_config(RunConfig, values, "the run's config")
    fingerprint = record.identity.get("encoder_fingerprint")
    if record.tuned:
        fingerprint = record.tuned.base_fingerprint
    return Tracked(
        config, record.condition, record.source, record.corpus, record.metric, record.encoder, fingerprint
    )


def label_run(run: Tracked) -> RunLabel:
    """Name, group and tags; tags serve to filter runs."""
    task, elmo = run.config.task.name, run.config.elmo
    tags = [task, run.source, f"size:{run.config.size}"]
    if run.encoder is None:
        tags.append("baseline")
    else:
        tags += [f"encoder:{run.encoder}", f"where:{elmo.where}", f"layers:{elmo.layers}"]
    tags += [f"{key}:{name}" for key, name in find_sweep().items()]
    return RunLabel(
        name=f"{task} {run.method} seed {run.config.seed}",
        group=f"{task}-{run.condition}",
        tags=tuple(tags),
    )


def describe_run(run: Tracked) -> dict[str, Any]:
    """The configuration without the machine's directories, plus values derived from it."""
    values = run.config.model_dump(mode="json", by_alias=True, exclude={"paths": True, "task": {"sources"}})
    return {
        **drop_directories(values),
        **find_sweep(),
        "condition": run.condition,
        "method": run.method,
        "source": run.source,
        "corpus": run.corpus,
        "fraction": run.config.data.fraction,
        "metric": run.metric,
        "task_name": run.config.task.name,
        "encoder_name": run.encoder or "none",
    }


def name_row(run: Tracked, row: Mapping[str, float]) -> dict[str, float]:
    """A row of the learning curve under the names of a tracker."""
    return {key if key in ("epoch", "step") else f"{run.scope}/{key}": value for key, value in row.items()}


def summarise_run(record: Record) -> dict[str, Any]:
    """Scores, also under every row of a table that the run belongs to; layer weights and gammas."""
    summary: dict[str, Any] = {}
    for split, values in record.scores.items():
        summary[f"{split}/score"] = values[record.metric]
        summary |= {f"{split}/{name}": value for name, value in values.items() if ":" not in name}
    for place, learnt in record.learnt.items():
        summary[f"elmo/{place}/gamma"] = learnt["gamma"]
        for layer, weight in record.layer_weights(place).items():
            summary[f"elmo/{place}/layer_{layer}"] = weight
    summary = {f"{scope_of(record)}/{name}": value for name, value in summary.items()}
    summary |= row_scores(record, list_tables())
    summary |= {"best_epoch": record.best_epoch, "seconds": sum(record.seconds.values())}
    return summary | {f"parameters/{part}": count for part, count in record.parameters.items()}
