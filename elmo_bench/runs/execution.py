"""One run from its configuration to its record."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import torch
from safetensors.torch import save

from elmo_bench.conditions import describe_notes
from elmo_bench.config import RunConfig
from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.encoders.injection import Injection
from elmo_bench.files import immediate_lock, remove_leftovers, write_atomically
from elmo_bench.hashing import hash_file
from elmo_bench.records import (
    COUNTS,
    RUN_RECORD,
    WEIGHTS,
    EncoderFacts,
    Record,
    predictions_file,
    read_record,
    write_counts,
    write_predictions,
    write_record,
)
from elmo_bench.runs.batches import EvaluationBatches, TrainingBatches, seed_at
from elmo_bench.runs.environment import describe_environment
from elmo_bench.runs.fitting import Fit, FitPlan, fit, predict
from elmo_bench.runs.inputs import Material, build_store, gather
from elmo_bench.runs.module import TaskModule
from elmo_bench.runs.outcome import CHECKPOINTS, Outcome, is_taken, tidy
from elmo_bench.runs.preparation import Prepared, find_lock, prepare
from elmo_bench.runs.speed import describe_encoder
from elmo_bench.runs.tracked import describe_run, label_run, name_row, summarise_run, track_prepared
from elmo_bench.runs.tracking import Tracker, build_tracker, require_tracker
from elmo_bench.task import score_by_metric
from elmo_bench.training.memory import (
    bound_product_caches,
    explain_exhaustion,
    keep_freed_memory,
    pause_collection,
)
from elmo_bench.types import Counts, Log, Prediction, Scores, log_to_stderr

SMALLER_STEPS = (
    "trainer.accumulate=4 computes every batch in four parts with the same gradients, "
    "task.training.batch_size=N makes batches smaller, trainer.precision=bf16-mixed halves activations"
)
ENCODE_ELSEWHERE = "encoder.device=cpu encodes without the GPU"


def run_job(config: RunConfig, log: Log) -> Outcome:
    """Execute the configured run, unless it is done already."""
    require_tracker(config.tracking)
    keep_freed_memory()
    bound_product_caches()
    if config.trainer.threads:
        torch.set_num_threads(config.trainer.threads)
    prepared = prepare(config, log)
    directory, result = prepared.directory, prepared.directory / RUN_RECORD
    directory.parent.mkdir(parents=True, exist_ok=True)
    with immediate_lock(find_lock(directory), f"{directory}: another process is executing this run"):
        remove_leftovers(directory)
        if is_taken(result):
            tidy(directory)
            if not config.force:
                return Outcome("already done", read_record(result), directory)
            log(f"the earlier run is kept as {set_aside(directory)}")
        with closing(build_tracker(config.tracking, directory, log)) as tracker:
            return Outcome("done", _execute(config, prepared, tracker, log), directory)


def set_aside(directory: Path) -> Path:
    """Rename a run directory to <name>.<n>: nothing is ever overwritten."""
    numbered = (directory.with_name(f"{directory.name}.{number}") for number in itertools.count(1))
    return directory.rename(next(target for target in numbered if not target.exists()))


def _execute(config: RunConfig, prepared: Prepared, tracker: Tracker, log: Log) -> Record:
    started = time.perf_counter()
    directory = prepared.directory
    directory.mkdir(parents=True, exist_ok=True)
    with pause_collection(), explain_exhaustion(ENCODE_ELSEWHERE):
        material = gather(config, prepared, log)
    gathered = time.perf_counter()
    facts = describe_facts(config, prepared, material)  # kept now: a run that resumes encodes nothing
    module = build_module(config, prepared, material.vocabularies)
    tracked = track_prepared(config, prepared)
    tracker.start(label_run(tracked), describe_run(tracked))
    with explain_exhaustion(SMALLER_STEPS):
        fitted = fit_module(module, config, prepared, material, tracker, log)
        trained = time.perf_counter()
        scores = evaluate(module, config, prepared, material)
    seconds = {
        "gathering": gathered - started,
        "fitting": fitted.earlier_seconds + trained - gathered,
        "evaluating": time.perf_counter() - trained,
    }
    # `predict` and `ensemble` need the weights. The record is written last and marks the run as done; a run
    # that is killed before goes on from its checkpoint, and tells its tracker everything again.
    weights = {name: value.contiguous() for name, value in module.state_dict().items()}
    write_atomically(directory / WEIGHTS, save(weights))
    record = make_record(config, prepared, material, module, fitted, scores, facts, seconds)
    tracker.finish(summarise_run(record))
    write_record(directory / RUN_RECORD, record)
    shutil.rmtree(directory / CHECKPOINTS, ignore_errors=True)
    return record


def build_module(config: RunConfig, prepared: Prepared, vocabularies: Vocabularies) -> TaskModule:
    """Head and injection with initial weights that depend only on the seed."""
    torch.manual_seed(seed_at(config.seed, -1))
    card = prepared.encoder.card if prepared.encoder else None
    injection = Injection(config.elmo, prepared.layers, card.dim if card else 0)
    head = prepared.task.build_head(vocabularies, injection.widths)
    parts = config.trainer.accumulate
    return TaskModule(head, injection, config.task.training, config.elmo.lam, config.seed, parts)


def fit_module(
    module: TaskModule, config: RunConfig, prepared: Prepared, material: Material, tracker: Tracker, log: Log
) -> Fit:
    """Train on the training set and choose the weights by dev score."""
    task, settings = prepared.task, config.task.training
    tracked = track_prepared(config, prepared)
    most_updates = settings.epochs * -(-material.whole // settings.batch_size)
    training = TrainingBatches(
        material.indexed["train"],
        material.layers["train"],
        settings.batch_size,
        settings.bucket_by_length,
        config.seed,
        min(settings.evaluate_every, most_updates) if settings.evaluate_every else None,
    )

    def score(predictions: Sequence[Prediction]) -> float:
        return score_by_metric(task, count(prepared, material, "dev", predictions))

    def observe(row: dict[str, float]) -> None:
        tracker.log(name_row(tracked, row))
        log("  ".join([f"epoch {row['epoch']:5.4g}", *_columns(row, task.metric)]))

    plan = FitPlan(
        directory=prepared.directory / CHECKPOINTS,
        settings=settings,
        trainer=config.trainer,
        most_updates=most_updates,
        score=score,
        higher_is_better=task.higher_is_better,
        log=log,
        observe=observe,
    )
    return fit(module, training, evaluation_batches("dev", material, settings.batch_size), plan)


def evaluate(
    module: TaskModule, config: RunConfig, prepared: Prepared, material: Material
) -> dict[str, Scores]:
    """Predict dev and test, keep predictions and counts, and score them."""
    counts = {}
    for split in evaluated_splits(material):
        batches = evaluation_batches(split, material, config.task.training.batch_size)
        predictions = predict(module, batches, config.trainer)
        counts[split] = count(prepared, material, split, predictions)
        ids = [example.id for example in material.examples[split]]
        rows = zip(ids, predictions, strict=True)
        write_predictions(prepared.directory / predictions_file(split), rows)
    write_counts(prepared.directory / COUNTS, counts)
    return {split: prepared.task.score(rows) for split, rows in counts.items()}


def evaluated_splits(material: Material) -> list[str]:
    """The splits that a run predicts and is scored on."""
    return [split for split in material.examples if split != "train"]


def count(
    prepared: Prepared, material: Material, split: str, predictions: Sequence[Prediction]
) -> list[Counts]:
    """One row of numbers per example of a split."""
    pairs = zip(material.examples[split], predictions, strict=True)
    return [prepared.task.count(example, prediction) for example, prediction in pairs]


def evaluation_batches(split: str, material: Material, batch_size: int) -> EvaluationBatches:
    """The batches of a split, always the same."""
    return EvaluationBatches(material.indexed[split], material.layers[split], batch_size)


def make_record(
    config: RunConfig,
    prepared: Prepared,
    material: Material,
    module: TaskModule,
    fitted: Fit,
    scores: dict[str, Scores],
    facts: EncoderFacts | None,
    seconds: dict[str, float],
) -> Record:
    """The record of a run: everything that tables, figures and an auditor need."""
    files = (
        COUNTS,
        *(predictions_file(split) for split in evaluated_splits(material)),
        WEIGHTS,
    )
    return Record(
        task=config.task.name,
        task_version=prepared.task.version,
        metric=prepared.task.metric,
        condition=prepared.condition,
        seed=config.seed,
        source=prepared.corpus.source,
        corpus=prepared.corpus.name,
        size=config.size,
        debug=config.limit is not None or config.debug is not None,
        identity=prepared.identity,
        config=config.model_dump(mode="json", by_alias=True),
        scores=scores,
        examples={split: len(rows) for split, rows in material.examples.items()},
        left_out=material.left_out,
        notes=describe_notes(config.task.settings, config.task.captions, prepared.corpus.config.note),
        curve=fitted.curve,
        best_epoch=fitted.best_epoch,
        stopped=fitted.stopped,
        slope=fitted.slope,
        updates=fitted.updates,
        learnt=module.injection.learnt(),
        words=material.coverage,
        hashes={
            **{f"data/{split}": value for split, value in prepared.data_sha256.items()},
            **{name: hash_file(prepared.directory / name) for name in files},
        },
        encoder=prepared.encoder.card.name if prepared.encoder else None,
        tuned=prepared.tuned,
        encoder_facts=facts,
        parameters={
            "head": sum(weight.numel() for weight in module.head.parameters()),
            "injection": sum(weight.numel() for weight in module.injection.parameters()),
        },
        seconds=seconds,
        environment=describe_environment(prepared.packages),
    )


def describe_facts(config: RunConfig, prepared: Prepared, material: Material) -> EncoderFacts | None:
    """What the encoder of a run costs; nothing where it has none."""
    if prepared.encoder is None:
        return None
    card = prepared.encoder.card
    store = build_store(config, prepared.encoder, prepared.layers, prepared.layers, log_to_stderr)
    return describe_encoder(config, card, store.token_bytes(card.layers), material.stopwatch)


def _columns(row: dict[str, float], metric: str) -> list[str]:
    columns = [f"dev {metric} {row['dev']:6.2f}"]
    return [f"loss {row['loss']:8.4f}", *columns] if "loss" in row else columns
