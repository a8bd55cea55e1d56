"""The names under which trackers and dashboards have the numbers of runs.

Every name begins with the task, the source and the corpus, so a chart of one name never mixes them. A score
is there once more under each row of a table that the run belongs to. So the charts of two tables have
different runs, although both show scores of the same task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from elmo_bench.config import RowConfig, TableConfig
from elmo_bench.records import Record
from elmo_bench.report.baseline import is_whole
from elmo_bench.report.published import Wanted

ENCODER_ROWS = (  # of tables that compare encoders, which list no rows
    RowConfig(label="without ELMo", elmo="none"),
    RowConfig(label="with the encoder", elmo={}),
)


def scope(task: str, source: str, corpus: str, is_trial: bool = False) -> str:
    """What the names of a run begin with; trial runs never meet others."""
    return f"{'trial/' if is_trial else ''}{task}/{source}/{corpus}"


def scope_of(record: Record) -> str:
    """What the names of a finished run begin with."""
    return scope(record.task, record.source, record.corpus, record.debug)


def rows_of(table: TableConfig) -> dict[str, RowConfig]:
    """The rows of a table that single runs belong to, by their short names."""
    rows = ENCODER_ROWS if table.kind == "encoders" else table.rows if table.kind == "scores" else ()
    shown = [row for row in rows if row.elmo is not None and not row.ensemble]
    return {shorten(row.label or row.paper or ""): row for row in shown}


def shorten(label: str) -> str:
    """A label as part of a name: all_layers_0_001 for `all layers, λ = 0.001`."""
    return re.sub(r"\W+", "_", label, flags=re.ASCII).strip("_").lower()


def row_scores(record: Record, tables: Mapping[str, TableConfig]) -> dict[str, float]:
    """The run's score under every row that it belongs to."""
    found = {}
    for name, table in tables.items():
        if (table.tasks and record.task not in table.tasks) or table.split not in record.scores:
            continue
        for short, row in rows_of(table).items():
            if belongs(record, row):
                found[f"{scope_of(record)}/{name}/{short}"] = record.scores[table.split][record.metric]
    return found


def belongs(record: Record, row: RowConfig) -> bool:
    """Whether a run has the condition of a row, on all of the training set that its size prescribes."""
    if row.encoder == "tuned":
        is_encoder = record.tuned is not None
    else:
        is_encoder = record.tuned is None and row.encoder in ("own", record.encoder)
    without_words = record.identity["words"]["kind"] == "none"
    usual_words = record.config["task"].get("words", {}).get("kind")
    wanted_words = {"none": without_words, "any": not without_words}.get(
        row.words, without_words == (usual_words == "none")
    )
    return (
        (is_encoder or row.elmo == "none")
        and wanted_words
        and is_whole(record)
        and row.elmo is not None
        and Wanted(row.elmo, settings=row.settings).fits(record)
    )
