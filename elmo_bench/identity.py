"""The identity of a run: two runs with equal identities are the same run."""

from __future__ import annotations

from typing import Any

from elmo_bench.conditions import known_elmo, leave_out, reduce_elmo
from elmo_bench.config import RunConfig
from elmo_bench.sources import choose_corpus

NUMERICS = 3
"""Increase it when the same configuration of a run gives different numbers."""

NOT_PART_OF_A_CONDITION = (
    "seed",  # identity is (condition, seed)
    "force",
    "evaluate",  # without the test split the data hashes differ
    "plan",
    "size_fraction",  # data.fraction has the actual value
    "paths",
    "tracking",
    "trainer.accelerator",
    "trainer.devices",
    "trainer.nodes",
    "trainer.threads",
    "trainer.checkpoint_seconds",
    "store.mode",  # every mode gives the same values; the dtype does not
    "store.layers",  # for other runs
    "task.plugin",  # the location of the code; the task's name and version identify what it computes
    "task.score",  # likewise
    "task.sources",  # the content of the files that they name is hashed
    "task.elmo",  # defaults, already resolved into `elmo`
    "task.as_before",  # says which settings are left out
    "task.text",  # settings that runs do not use
    "task.words",  # defaults, already resolved into `words`
    "task.title",
    "task.captions",
    "task.paper",
    "encoder",  # known by its fingerprint
    "tuning",  # it makes an encoder with another fingerprint
    "words.file",  # known by its content, like the next
    "words.beside",
    "words.get",  # instructions to obtain the files
    "data.least",  # a run that is made has more
    "data.repository",  # its files are identified by content, like those of the next four
    "data.format",
    "data.train",
    "data.dev",
    "data.test",
)
OFF_BY_DEFAULT = ("evaluate_every", "least_updates")  # of task.training


def identify(
    config: RunConfig, task_version: int, data: dict[str, str], encoder: str | None, words: str | None
) -> dict[str, Any]:
    """Everything that decides a run's numbers except its seed, as plain values in a canonical form."""
    values = config.model_dump(mode="json", by_alias=True)
    for key in NOT_PART_OF_A_CONDITION:
        *groups, last = key.split(".")
        holder = values
        for group in groups:
            holder = holder[group]
        holder.pop(last)
    for key in OFF_BY_DEFAULT:  # left out if off, because older conditions do not have this key
        if not values["task"]["training"][key]:
            values["task"]["training"].pop(key)
    values["task"]["settings"] = leave_out(config.task.settings, config.task.as_before)
    values["elmo"] = reduce_elmo(known_elmo(config))
    if config.elmo.where == "none":
        values.pop("store")
        encoder = None
    if values["words"]["kind"] == "none":
        values["words"] = {"kind": "none"}
    elif values["words"]["kind"] == "file":
        values["words"].pop("dim")
    _, corpus = choose_corpus(config.task, config.data)
    if corpus.options:  # how the reader interprets the files
        values["corpus_options"] = corpus.options
    return {
        **values,
        "task_version": task_version,
        "data_sha256": data,
        "encoder_fingerprint": encoder,
        "words_sha256": words,
        "numerics": NUMERICS,
    }
