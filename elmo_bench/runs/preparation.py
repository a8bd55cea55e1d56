"""Find everything that a run reads, and derive the run's identity and directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmo_bench import sources
from elmo_bench.config import RunConfig
from elmo_bench.encoders.layers import layers_read
from elmo_bench.encoders.protocol import FoundEncoder
from elmo_bench.hashing import hash_file_once, hash_value
from elmo_bench.identity import identify
from elmo_bench.plugins import find_version, load_task
from elmo_bench.records import TunedEncoder, condition_of
from elmo_bench.runs.encoder import find_run_encoder, plan_run_encoder
from elmo_bench.sources import Corpus
from elmo_bench.task import AnyTask
from elmo_bench.types import DataMissingError, Log


@dataclass(frozen=True)
class Prepared:
    """The inputs of a run, located and fingerprinted before anything is computed."""

    task: AnyTask
    corpus: Corpus
    data_sha256: dict[str, str]  # by split
    encoder: FoundEncoder | None
    layers: tuple[int, ...]  # of the encoder, that the run reads
    tuned: TunedEncoder | None  # if the encoder is fine-tuned for this run
    identity: dict[str, Any]
    condition: str
    directory: Path

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages with which the task and the encoder compute."""
        of_encoder = self.encoder.card.packages if self.encoder else ()
        return (*self.task.packages, *of_encoder)


def prepare(config: RunConfig, log: Log) -> Prepared:
    """Find the data and the encoder, or make them; the run itself computes nothing yet."""
    task = load_task(config.task)
    corpus = find_corpus(config, log)
    data = corpus.fingerprints()  # at once: making an encoder takes minutes in which a file may change
    words = hash_words(config)
    encoder, tuned = None, None
    layers: tuple[int, ...] = ()
    if config.elmo.where != "none":
        encoder, tuned = find_run_encoder(config, log)
        layers = layers_read(config, encoder.card.layer_count)
    identity = identify(config, task.version, data, encoder.card.fingerprint if encoder else None, words)
    directory = run_directory(config, identity)
    return Prepared(task, corpus, data, encoder, layers, tuned, identity, condition_of(identity), directory)


def find_corpus(config: RunConfig, log: Log) -> Corpus:
    """The files of the splits that the run reads."""
    splits = ("train", "dev") if config.evaluate.splits == "dev" else sources.SPLITS
    return sources.prepare(config.task, config.data, config.paths, log, splits)


def foresee(config: RunConfig, log: Log) -> Path:
    """The directory of a run, whether it exists or not; no encoder is made, and PyTorch is not needed.

    If the encoder has to be made first, the run cannot be done yet: the encoder's directory replaces its
    fingerprint.
    """
    encoder = None
    if config.elmo.where != "none":
        planned = plan_run_encoder(config, log)
        card = planned.card if planned else find_run_encoder(config, log)[0].card
        layers_read(config, card.layer_count)  # fails if one does not exist
        encoder = planned.directory.name if planned else card.fingerprint
    version, data = find_version(config.task), find_corpus(config, log).fingerprints()
    return run_directory(config, identify(config, version, data, encoder, hash_words(config)))


def run_directory(config: RunConfig, identity: dict[str, Any]) -> Path:
    """Where a run writes; its name is the condition and the seed."""
    return config.paths.runs / config.task.name / f"{condition_of(identity)}-s{config.seed}"


def find_lock(directory: Path) -> Path:
    """The lock of the process that executes a run."""
    return directory.with_name(f".{directory.name}.lock")


def hash_words(config: RunConfig) -> str | None:
    """The hashes of the word-vector files, if there are any."""
    words = config.words
    for file in words.files:
        if not file.is_file():
            key = "words.file" if file == words.file else "words.beside"
            get = f" To get it: {words.get[file.name]}." if file.name in words.get else ""
            # Where conf/words has no `beside`, Hydra refuses an override of it.
            alone = " words.beside=null" if "beside" in words.model_fields_set else ""
            raise DataMissingError(
                f"{file}: no such file ({key}).{get} Any other GloVe or word2vec text file will do, plain or "
                f".gz: words.file=FILE{alone}; or choose words=random"
            )
    hashes = [hash_file_once(file) for file in words.files]
    return hash_value(hashes) if len(hashes) > 1 else next(iter(hashes), None)
