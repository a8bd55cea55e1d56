"""The jobs of run.py: one run each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from elmo_bench.config import RunConfig
from elmo_bench.hashing import hash_value
from elmo_bench.sweep.kinds import JobKind
from elmo_bench.sweep.plan import Plan, Target, estimate_seconds
from elmo_bench.sweep.printing import print_line, print_once
from elmo_bench.task import AnyTask
from elmo_bench.training.devices import check_devices, refuse_impossible
from elmo_bench.training.memory import pause_collection
from elmo_bench.types import BenchError

EACH_LAYER = "elmo.layers=each"  # in a sweep


def run_one(config: RunConfig, typed: Sequence[str]) -> Path:
    """Execute one run and print its outcome."""
    refuse_impossible(config.trainer)
    # Slow modules are imported only now, so that a mistyped value is reported at once.
    from elmo_bench.records import RUN_RECORD
    from elmo_bench.runs.outcome import find_outcome
    from elmo_bench.runs.printing import print_outcome

    outcome = find_outcome(config, print_line)
    if outcome is None:
        with pause_collection():  # only now PyTorch and Lightning, which take seconds
            from elmo_bench.runs.execution import run_job
            from elmo_bench.tensors import check_device

        check_devices(config.trainer)
        if config.elmo.where != "none":
            check_device(config.encoder.device, "encoder.device")
        outcome = run_job(config, print_line)
    print_outcome(outcome, typed)
    return outcome.directory / RUN_RECORD


def locate_run(config: RunConfig) -> Target:
    """The path of the run's record, whether it exists or not."""
    refuse_impossible(config.trainer)
    from elmo_bench.plugins import load_task
    from elmo_bench.records import RUN_RECORD, read_record
    from elmo_bench.runs.preparation import find_lock, foresee
    from elmo_bench.runs.tracking import require_tracker

    directory = foresee(config, print_once)
    record = directory / RUN_RECORD
    published = config.paths.records / config.task.name / f"{directory.name}.json"
    is_published = not record.is_file() and published.is_file() and not config.force
    if is_published:
        record = published
    done = record.is_file() and not config.force
    if done:
        read_record(record)  # reports a damaged one
    else:
        _check_text(config, load_task(config.task))  # reports settings that do not fit
        _mention_encoder(config)
        require_tracker(config.tracking)
    return Target(
        key=str(directory),
        record=record,
        done=done,
        group=config.task.name,
        seconds=estimate_seconds(config),
        published=is_published,
        lock=find_lock(directory),
    )


def _check_text(config: RunConfig, task: AnyTask) -> None:
    """Refuse documents of a corpus without any; only its files can tell."""
    if config.elmo.where == "none" or config.encoder.context == "sentence":
        return
    from elmo_bench.runs.excerpts import check_documents
    from elmo_bench.runs.preparation import find_corpus
    from elmo_bench.runs.selection import read_examples

    corpus = find_corpus(config, print_once)
    check_documents(task, read_examples(task, corpus), config.encoder.context, corpus.name)


def _mention_encoder(config: RunConfig) -> None:
    """Published runs of an encoder are found by its fingerprint."""
    from elmo_bench.runs.encoder import plan_run_encoder

    planned = plan_run_encoder(config, print_once) if config.elmo.where != "none" else None
    if planned:
        name = planned.card.name
        print_once(
            f"encoder {name}: the first run that reads it makes it; published runs are found only then"
        )


def comment_seeds(plan: Plan) -> list[str]:
    """How many seeds the gains of the plan need."""
    from elmo_bench.sweep.seeds import describe_seeds

    return describe_seeds(plan)


def expand_layers(job: list[str], read: Callable[[list[str]], RunConfig]) -> list[list[str]]:
    """One job for every layer of the encoder in place of a job with elmo.layers=each."""
    if EACH_LAYER not in job:
        return [job]
    place = job.index(EACH_LAYER)

    def with_layer(layer: int) -> list[str]:
        return [*job[:place], f"elmo.layers={layer}", *job[place + 1 :]]

    try:
        layers = _find_layers(read(with_layer(0)))
    except BenchError:
        layers = (0,)  # the plan reports why the job cannot run
    return [with_layer(layer) for layer in layers]


def _find_layers(config: RunConfig) -> tuple[int, ...]:
    """The layers that `encoder.layers` keeps; the baseline is one job. Nothing is computed."""
    from elmo_bench.encoders.layers import kept_layers
    from elmo_bench.runs.encoder import find_run_encoder, plan_run_encoder

    if config.elmo.where == "none":
        return (0,)
    planned = plan_run_encoder(config, print_once)
    card = planned.card if planned else find_run_encoder(config, print_once)[0].card
    return kept_layers(config.encoder.layers, card.layer_count)


def share_layers(configs: Sequence[RunConfig]) -> list[list[str]]:
    """What each run stores for the others, so that a sweep over layers encodes every sentence once."""
    wanted: dict[str, set[int | str]] = defaultdict(set)
    for config in configs:
        wanted[_store_name(config)] |= _layers_wanted(config)
    return [_store_override(config, wanted[_store_name(config)]) for config in configs]


def _store_name(config: RunConfig) -> str:
    """The same for runs that read the same sentences of the same encoder."""
    encoder = config.encoder.model_dump(mode="json", exclude={"layers"})
    tuning, data = config.tuning.model_dump(mode="json"), config.data
    source = [config.task.name, data.source, data.corpus, config.limit, config.store.dtype]
    return hash_value([encoder, tuning, source])


def _layers_wanted(config: RunConfig) -> set[int | str]:
    """The layers that a run reads, as far as its configuration tells them without the encoder."""
    kept, chosen = config.encoder.layers, config.elmo.layers
    if config.elmo.where == "none":
        return set()
    if chosen == "all":
        return {"all"} if kept is None else set(kept)
    if chosen == "last":
        return {"last"} if kept is None else {max(kept, default="last")}
    return {chosen}


def _store_override(config: RunConfig, wanted: set[int | str]) -> list[str]:
    own = _layers_wanted(config)
    if config.store.layers != "read" or not own or "all" in own or wanted <= own:
        return []
    if "all" in wanted:
        return ["store.layers=all"]
    return [f"store.layers=[{','.join(sorted(map(str, wanted)))}]"]


KIND = JobKind("config", RunConfig, run_one, locate_run, expand_layers, comment_seeds, share_layers)
