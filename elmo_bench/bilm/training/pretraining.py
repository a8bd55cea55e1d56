"""Pre-train a biLM, or train one further, so that a kill at any moment costs nothing but time."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset

from elmo_bench.bilm.identity import BILM_NUMERICS
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmConfig, PretrainConfig
from elmo_bench.bilm.trained import FILES, RECORD_FILE, read_training, refuse
from elmo_bench.bilm.training.batches import (
    ContiguousStreams,
    Reader,
    SentenceBatches,
    TextBatch,
    TokenTable,
)
from elmo_bench.bilm.training.callbacks import Curve, Progress, Watch
from elmo_bench.bilm.training.language_model import (
    LanguageModel,
    find_language_model,
    load_language_model,
    round_to_half,
    save_language_model,
)
from elmo_bench.bilm.training.module import PretrainingModule, product_dtype, samples_negatives
from elmo_bench.bilm.training.objective import Softmax
from elmo_bench.bilm.training.perplexity import Figures, Perplexity, measure_fresh, measure_perplexity
from elmo_bench.bilm.training.step_input import CharacterTable
from elmo_bench.bilm.training.text import (
    EncodedText,
    count_shared,
    encode_sentences,
    encode_shards,
    fingerprint_files,
)
from elmo_bench.bilm.verification import read_finished
from elmo_bench.data.text import TargetVocabulary, TextCorpus, read_sentences
from elmo_bench.files import immediate_lock, is_plain_file, remove, try_lock, waiting_lock, write_atomically
from elmo_bench.hashing import hash_value, seal_text
from elmo_bench.training.checkpoints import CheckpointDirectory
from elmo_bench.training.devices import check_devices, check_processes, is_one_of_several
from elmo_bench.training.lightning import pl
from elmo_bench.training.memory import explain_exhaustion, keep_freed_memory
from elmo_bench.training.quiet import quiet_lightning
from elmo_bench.training.stopping import keep_handlers
from elmo_bench.types import BenchError, DamagedFileError, Log, UsageError

SMALLER_STEPS = "lower bilm.batches.tokens (of streams: bilm.batches.rows) or bilm.negatives"


@dataclass(frozen=True)
class Pretraining:
    """One training run of a biLM: what to train on what, and where it is to lie."""

    config: PretrainConfig
    corpus: TextCorpus
    target: Path  # the finished model's directory
    work: Path  # checkpoints and the encoded text, removed when the model is finished
    start: Path | None = None  # a model to go on from instead of random weights
    vocabulary: Path | None = None  # the words to predict instead of the text's most frequent
    streams: Mapping[str, Path] = field(default_factory=dict)  # texts that are measured before and after
    facts: Mapping[str, Any] = field(default_factory=dict)  # for the record, like the environment
    environment: Mapping[str, Any] = field(default_factory=dict)
    replace_damaged: bool = False  # of a model in the cache: it is trained again instead of refused


def pretrain(run: Pretraining, log: Log) -> Path:
    """Train until the end or a limit and write the model; the same call resumes where this one stops."""
    check_devices(run.config.trainer)
    check_processes(run.config.trainer)
    keep_freed_memory()
    is_first = getattr(pl.utilities.rank_zero_only, "rank", 0) == 0  # of the processes of one distributed run
    if not is_first:
        log = _keep_quiet
    identity = identity_of(run)
    if is_finished(run, identity):
        if is_first:
            _remove_work(run.work)
        return run.target
    run.work.mkdir(parents=True, exist_ok=True)
    with _lock_for_all(run, log) if is_first else nullcontext():
        if not is_finished(run, identity):
            if is_first:
                _prepare_target(run, log)
            _check_work(run, identity, log)
            _train(run, identity, log)
    if is_finished(run, identity):
        shutil.rmtree(run.work, ignore_errors=True)
    return run.target


def _lock_for_all(run: Pretraining, log: Log) -> AbstractContextManager[None]:
    """The first process holds the lock for all; while it waited, others of its launcher would wait for it."""
    path, what = _lock_of(run.work), f"{run.target.name} is being trained"
    if is_one_of_several():
        return immediate_lock(path, f"{what} by another command; try again when it has ended", BenchError)
    return waiting_lock(path, what, log)


def _keep_quiet(_: str) -> None:
    """Log nothing: only the first process logs."""


def is_finished(run: Pretraining, identity: str) -> bool:
    """Whether the directory holds this very run's model, trained to its end and undamaged."""
    try:
        record = read_training(run.target)
        if record is not None and record.get("identity") != identity:
            raise UsageError(
                f"{run.target} holds a biLM trained in another way or on other text; "
                "choose another name, or move it away"
            )
        return read_finished(run.target) is not None
    except DamagedFileError:
        if run.replace_damaged:
            return False
        raise


def _prepare_target(run: Pretraining, log: Log) -> None:
    """Make room for a model of the cache; refuse to write over anything else before hours are spent."""
    target = run.target
    if run.replace_damaged:
        if os.path.lexists(target):
            log(f"{target}: damaged or incomplete; making it again")
            remove(target)
        return
    if os.path.lexists(target) and not target.is_dir():
        raise refuse(target, "not a directory")
    for name in FILES:
        if os.path.lexists(target / name) and not (target / name).is_file():
            raise refuse(target, f"{name} is not a file")
    # A killed session of this training leaves files without a record, and its work.
    if any((target / name).exists() for name in FILES) and not (
        read_training(target) or (run.work / "identity").is_file()
    ):
        raise refuse(target, f"{RECORD_FILE} is not there")


def _remove_work(work: Path) -> None:
    """Remove what is left of a training that was killed after it had written the model."""
    if work.is_dir() and (lock := try_lock(_lock_of(work))):
        shutil.rmtree(work, ignore_errors=True)
        lock.release()


def _lock_of(work: Path) -> Path:
    return work.with_name(f"{work.name}.lock")


def identity_of(run: Pretraining) -> str:
    """The hash of all that decides the weights."""
    return hash_value(
        {
            "bilm": run.config.bilm.model_dump(exclude={"name"}),
            "seed": run.config.seed,
            **_shards(run.corpus),
            "start": fingerprint_files(find_language_model(run.start)) if run.start else None,
            **({"vocabulary": fingerprint_files([run.vocabulary])} if run.vocabulary else {}),
            "numerics": BILM_NUMERICS,
        }
    )


def _shards(corpus: TextCorpus) -> dict[str, dict[str, str]]:
    """The texts by the hashes of their files."""
    return {"train": fingerprint_files(corpus.train), "heldout": fingerprint_files(corpus.heldout)}


def _check_work(run: Pretraining, identity: str, log: Log) -> None:
    """Refuse to mix the checkpoints of two different runs; those of a model of the cache are made again."""
    path = run.work / "identity"
    is_ours = is_plain_file(path) and path.read_bytes() == identity.encode()
    if os.path.lexists(path) and not is_ours:
        if not run.replace_damaged:
            raise UsageError(
                f"{path}: not of this training: {run.work} holds the unfinished training of a biLM with "
                "other settings or text, or the file is damaged; choose another name, or remove that "
                "directory to start anew"
            )
        log(f"{path}: damaged; starting anew")
        shutil.rmtree(run.work)
        run.work.mkdir()
    write_atomically(path, identity.encode())


def _train(run: Pretraining, identity: str, log: Log) -> None:
    """Encode the text, train from the newest checkpoint, measure, and write the model with its record."""
    config = run.config.bilm
    with waiting_lock(run.work / "encoding.lock", "the text is being encoded", log):
        text = encode_shards(run.corpus.train, run.work / "train", log)
        heldout = encode_shards(run.corpus.heldout, run.work / "heldout", log)
    model = _starting_model(run, text)
    table = TokenTable(text, model.vocabulary)
    reader = _reader(run.config, table)
    steps = _count_steps(config, reader)
    part = heldout.spread(config.curve_tokens)
    _announce(run, model, text, heldout, steps, log)
    before = _measure_streams(run, model)
    curve = Curve(
        config.curve_every, config.patience, reader.steps(0), lambda: measure_fresh(model, part), log
    )
    characters = CharacterTable(text.types, model.bilm.options.maximum_characters)
    module = PretrainingModule(model.bilm, model.softmax, config, steps, run.config.seed, characters)
    with explain_exhaustion(SMALLER_STEPS):
        finished_steps = _fit(run, module, reader, curve, log)
    if not module.is_writer:
        return
    if curve.best_row is not None:
        module.load_state_dict(curve.best_state)
    figures = _measure_finally(run, model, heldout, before, log)
    progress = _describe_progress(config, model, curve, finished_steps, steps)
    sizes = {"tokens": len(text.tokens), "sentences": len(text), "types": len(text.types)}
    _write(run, model, identity, {**progress, **figures, "corpus": {**_shards(run.corpus), **sizes}})


def _announce(
    run: Pretraining, model: LanguageModel, text: EncodedText, heldout: EncodedText, steps: int, log: Log
) -> None:
    """Log the sizes, and what makes the perplexity on held-out text doubtful."""
    log(
        f"{run.target.name}: {len(text.tokens):,} tokens in {len(text):,} sentences, vocabulary "
        f"{len(model.vocabulary):,}, {steps:,} steps, "
        f"products in {product_dtype(run.config.bilm) or torch.float32}"
    )
    if shared := count_shared(heldout, text):
        log(
            f"warning: {shared:,} of {len(heldout):,} held-out sentences are also in the training text; "
            "their perplexity is lower than that of new text"
        )
    if run.streams:
        log("measuring perplexity before training")


def _describe_progress(
    config: BilmConfig, model: LanguageModel, curve: Curve, done: int, planned: int
) -> dict[str, Any]:
    """How far the training went and how it computed, for the record."""
    is_sampled = samples_negatives(config, len(model.vocabulary))
    return {
        "finished": done >= planned or curve.is_exhausted,
        "stopped": "patience" if curve.is_exhausted else "cap",
        "steps": done,
        "best_step": None if curve.best_row is None else int(curve.rows[curve.best_row]["step"]),
        "planned_steps": planned,
        "tokens": curve.tokens,
        "seconds": round(curve.seconds, 1),
        "objective": "sampled softmax" if is_sampled else "full softmax",
        "products": str(product_dtype(config) or torch.float32).removeprefix("torch."),
        "curve": curve.rows,
    }


def _measure_finally(
    run: Pretraining, model: LanguageModel, heldout: EncodedText, before: dict[str, Perplexity], log: Log
) -> dict[str, Any]:
    """Round as the files will be, then measure: each text by itself, or the held-out text as a whole."""
    if run.config.bilm.storage == "float16":
        round_to_half(model)
    log("measuring perplexity on the held-out text")
    if not before:
        perplexity = measure_perplexity(model, heldout)
        log(describe_perplexity(perplexity))
        return {"heldout": asdict(perplexity)}
    after = _measure_streams(run, model)
    for name in before:
        log(f"{name}: {describe_change(before[name], after[name])}")
    return {
        "streams": {name: {"before": asdict(before[name]), "after": asdict(after[name])} for name in before}
    }


def _measure_streams(run: Pretraining, model: LanguageModel) -> dict[str, Perplexity]:
    """The perplexity of each text that is measured by itself."""
    return {
        name: measure_perplexity(model, encode_sentences(read_sentences([path])))
        for name, path in run.streams.items()
    }


def describe_perplexity(perplexity: Perplexity) -> str:
    """The figures with what they may be compared under."""
    return (
        f"perplexity, every sentence from a fresh state: {describe_figures(perplexity)}; "
        f"with carried state: {describe_figures(perplexity.carried)} "
        f"({perplexity.predictions:,} predictions per direction; vocabulary "
        f"{perplexity.vocabulary_sha256[:12]}, {100 * perplexity.oov_rate:.2f} % of the tokens outside it)"
    )


def describe_figures(figures: Figures) -> str:
    """The perplexities of one reading."""
    return f"forward {figures.forward:.2f}, backward {figures.backward:.2f}, average {figures.average:.2f}"


def describe_change(before: Perplexity, after: Perplexity) -> str:
    """The averages before and after fine-tuning."""
    return (
        f"average perplexity {before.average:.2f} before, {after.average:.2f} after; with carried state "
        f"{before.carried.average:.2f} before, {after.carried.average:.2f} after"
    )


def _starting_model(run: Pretraining, text: EncodedText) -> LanguageModel:
    """Random weights drawn from the seed, or those of the model to start from."""
    config = run.config.bilm
    if run.start is not None:
        model = load_language_model(run.start)
        if config.architecture != model.bilm.options:
            raise UsageError(
                f"bilm.architecture: expected the sizes of the model to start from, {model.bilm.options}, "
                f"got {config.architecture}"
            )
        model.bilm.train()  # for dropout: Lightning leaves the mode as it finds it
        return model
    if run.vocabulary is not None:
        vocabulary = TargetVocabulary.read(run.vocabulary)
    else:
        vocabulary = TargetVocabulary.of_frequent(text.types, config.vocabulary)
    generator = torch.Generator().manual_seed(run.config.seed)
    bilm = BiLM(config.architecture, generator)
    return LanguageModel(bilm, Softmax(len(vocabulary), bilm.options.projection_dim, generator), vocabulary)


def _reader(config: PretrainConfig, table: TokenTable) -> Reader:
    batches, processes = config.bilm.batches, config.trainer.nodes * config.trainer.devices
    if batches.kind == "sentences":
        return SentenceBatches(table, batches.tokens, config.seed)
    if batches.rows % processes:  # the states of all processes are kept together in checkpoints
        raise UsageError(
            f"bilm.batches.rows: expected a multiple of the {processes} processes, got {batches.rows}"
        )
    reader = ContiguousStreams(table, batches.rows, batches.window, config.seed)
    if reader.steps(0) == 0:
        raise UsageError(
            f"bilm.batches: a step of {batches.rows:,} rows x {batches.window:,} words needs at least "
            f"{batches.rows * batches.window:,} predictions, the text has {table.predictions:,}; lower "
            "bilm.batches.rows or bilm.batches.window"
        )
    return reader


def _count_steps(config: BilmConfig, reader: Reader) -> int:
    if config.steps is not None:
        return config.steps
    assert config.epochs is not None
    whole = int(config.epochs)
    last = round((config.epochs - whole) * reader.steps(whole)) if config.epochs > whole else 0
    return max(1, sum(reader.steps(epoch) for epoch in range(whole)) + last)


class StepSource(IterableDataset[TextBatch]):
    """The batches from the trainer's step on; each is a function of its step, so nothing needs to be kept."""

    def __init__(self, reader: Reader, trainer: pl.Trainer) -> None:
        self._reader, self._trainer = reader, trainer

    def __iter__(self) -> Iterator[TextBatch]:
        epoch, step = 0, self._trainer.global_step
        while True:
            steps = self._reader.steps(epoch)
            while step < steps:
                yield self._reader.batch(epoch, step, self._trainer.global_rank, self._trainer.world_size)
                step += 1
            epoch, step = epoch + 1, step - steps


def _fit(run: Pretraining, module: PretrainingModule, reader: Reader, curve: Curve, log: Log) -> int:
    """Train from the newest checkpoint to the end or a limit; gives the steps done in all."""
    trainer_config, limits = run.config.trainer, run.config.limits
    checkpoints = CheckpointDirectory(run.work / "checkpoints", log)
    if trainer_config.threads is not None:
        torch.set_num_threads(trainer_config.threads)
    with quiet_lightning():
        trainer = pl.Trainer(
            accelerator=trainer_config.accelerator,
            devices=trainer_config.devices,
            num_nodes=trainer_config.nodes,
            max_steps=min(module.steps, limits.steps or module.steps),
            gradient_clip_val=module.config.descent.clip,
            callbacks=[
                curve,
                Progress(limits, log),
                Watch(checkpoints, trainer_config.checkpoint_seconds, limits),
            ],
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
        )
        newest = checkpoints.newest()
        if newest:
            log(f"resuming from {newest.name}")
        loader = DataLoader(StepSource(reader, trainer), batch_size=None)
        with keep_handlers():
            trainer.fit(module, loader, ckpt_path=newest, weights_only=True)
    module.is_writer = trainer.is_global_zero
    return trainer.global_step


def _write(run: Pretraining, model: LanguageModel, identity: str, facts: dict[str, Any]) -> None:
    """Write the model's files and, last of all, the record that says they are whole."""
    record = run.target / RECORD_FILE
    record.unlink(missing_ok=True)
    hashes = save_language_model(model, run.target, run.config.bilm.storage == "float16")
    parameters = {
        "bilm": sum(parameter.numel() for parameter in model.bilm.parameters()),
        "softmax": sum(parameter.numel() for parameter in model.softmax.parameters()),
    }
    content = {
        "kind": "bilm",
        "identity": identity,
        "config": run.config.bilm.model_dump(),
        "seed": run.config.seed,
        "start": run.start.name if run.start else None,
        **facts,
        **run.facts,
        "vocabulary": {"words": len(model.vocabulary), "sha256": model.vocabulary.sha256},
        "parameters": parameters,
        "hashes": hashes,
        "environment": dict(run.environment),
    }
    write_atomically(record, seal_text(json.dumps(content, indent=1)).encode())
