"""The encoder of a run: as it is, or fine-tuned on the text of the run's task."""

from __future__ import annotations

import dataclasses

from elmo_bench.bilm.trained import RECORD_FILE
from elmo_bench.config import EncoderConfig, RunConfig
from elmo_bench.encoders.find import find_encoder, plan_encoder
from elmo_bench.encoders.protocol import FoundEncoder, PlannedEncoder
from elmo_bench.records import TunedEncoder, read_content
from elmo_bench.runs.finetuning import Finetuning, find_start, is_made, make
from elmo_bench.types import Log

MODEL_PLUGIN = "elmo_bench.encoders.bilm.DirectoryBilm"


def find_run_encoder(config: RunConfig, log: Log) -> tuple[FoundEncoder, TunedEncoder | None]:
    """The encoder, made if it is not there yet, and where it comes from if it is fine-tuned."""
    base = find_encoder(config.encoder, config.paths, config.trainer, log)
    if config.tuning.text == "none":
        return base, None
    finetuning = finetuning_of(config)
    directory = make(finetuning, finetuning.corpus(log), log)
    values = {
        "name": directory.name,
        "plugin": MODEL_PLUGIN,
        "directory": directory,
        "device": config.encoder.device,
    }
    if precision := config.encoder.settings.get("precision"):
        values["precision"] = precision
    found = find_encoder(EncoderConfig.model_validate(values), config.paths, config.trainer, log)
    record = read_content(directory / RECORD_FILE)
    known = {key: record[key] for key in ("identity", "steps", "finetuned")}
    return found, TunedEncoder.model_validate({**known, "base_fingerprint": base.card.fingerprint})


def plan_run_encoder(config: RunConfig, log: Log) -> PlannedEncoder | None:
    """The encoder that would have to be made first; None if it exists. Nothing is trained."""
    planned = plan_encoder(config.encoder, config.paths, config.trainer, log)
    if config.tuning.text == "none":
        return planned
    finetuning = finetuning_of(config)
    corpus = finetuning.corpus(log)
    if planned is None:
        if is_made(finetuning, corpus):
            return None
        find_start(finetuning, log)  # refuses an encoder that cannot be trained further
    base = planned.card if planned else find_encoder(config.encoder, config.paths, config.trainer, log).card
    directory = finetuning.directory(corpus)
    return PlannedEncoder(dataclasses.replace(base, name=directory.name, fingerprint=""), directory)


def finetuning_of(config: RunConfig) -> Finetuning:
    """All of the training text, whatever part of the examples the run learns from: it has no labels."""
    return Finetuning(
        name=None,
        task=config.task,
        encoder=config.encoder,
        data=config.data.model_copy(update={"fraction": 1.0, "limit": None}),
        bilm=config.tuning.bilm,
        trainer=config.trainer,
        seed=config.tuning.seed,
        paths=config.paths,
    )
