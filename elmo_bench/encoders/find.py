"""Which frozen encoder stands behind ELMo, made once where it does not exist yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import torch

from elmo_bench.bilm.engine.embedder import Embedder, fingerprint_model
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmConfig, PretrainConfig
from elmo_bench.bilm.training.pretraining import RECORD_FILE, Pretraining, pretrain
from elmo_bench.bilm.weights import find_model, load_bilm, save_bilm
from elmo_bench.config import EncoderConfig, PathsConfig, TrainerConfig, read_config
from elmo_bench.data.text import TextCorpus
from elmo_bench.data.vectors import read_vectors, word_table
from elmo_bench.encoders.protocol import Encoder, EncoderCard
from elmo_bench.encoders.words import WordEncoder
from elmo_bench.files import make_once
from elmo_bench.hashing import BILM_NUMERICS, hash_value
from elmo_bench.sources import generate_world
from elmo_bench.types import DataMissingError, Say, UsageError

UNTRAINED_SEED = 1
FileState = tuple[int, int, int]


@dataclass(frozen=True)
class FoundEncoder:
    """An encoder's card now; what reads sentences when the store lacks some."""

    card: EncoderCard
    load: Callable[[], Encoder]


def find_encoder(config: EncoderConfig, paths: PathsConfig, trainer: TrainerConfig, say: Say) -> FoundEncoder:
    """The encoder that the configuration names."""
    if config.kind == "words":
        return _static(config)
    options, weights = find_model(place_model(config, paths, trainer, say))
    options = config.options or options
    model, fingerprint = _read_model(
        options, weights, _state(options), _state(weights), config.state, config.precision
    )
    card = EncoderCard(
        config.name,
        fingerprint,
        model.options.layers + 1,
        2 * model.options.projection_dim,
        repeats_halves=True,
    )
    return FoundEncoder(card, lambda: Embedder(model, config.precision))


@lru_cache(maxsize=2)
def _read_model(
    options: Path,
    weights: Path,
    _options_state: FileState,
    _weights_state: FileState,
    state: Literal["reset"],
    precision: Literal["float32", "bfloat16"],
) -> tuple[BiLM, str]:
    """A model and its fingerprint, read once for all jobs of a process while its files stay as they are."""
    model = load_bilm(options, weights)
    return model, fingerprint_model(model, state, precision)


def _state(path: Path) -> FileState:
    state = path.stat()
    return state.st_size, state.st_mtime_ns, state.st_ino


def model_to_make(config: EncoderConfig, paths: PathsConfig, say: Say) -> Path | None:
    """Where an encoder will lie that is to be pre-trained first; None where there is nothing to wait for."""
    if config.kind != "sample":
        return None
    _, target = sample_place(config, paths, generate_world(paths.cache / "world", say))
    return None if (target / RECORD_FILE).is_file() else target


def place_model(config: EncoderConfig, paths: PathsConfig, trainer: TrainerConfig, say: Say) -> Path:
    """Where the biLM that the configuration names lies."""
    if config.kind == "sample":
        return _pretrained_on_world(config, paths, trainer, say)
    if config.kind == "untrained":
        return _untrained(config, paths, say)
    place = config.directory if config.kind == "model" else config.weights
    if place is None:
        raise UsageError(f"encoder.{'directory' if config.kind == 'model' else 'weights'}: a path is needed")
    return place


def sample_place(config: EncoderConfig, paths: PathsConfig, world: Path) -> tuple[BilmConfig, Path]:
    """What is pre-trained on the generated world, and where it lies once it has been."""
    bilm = read_config(BilmConfig, config.bilm or {}, "encoder.bilm")
    recipe = hash_value([bilm.model_dump(mode="json"), world.name, BILM_NUMERICS])[:12]
    return bilm, paths.cache / "models" / f"{config.name}-{recipe}"


def _pretrained_on_world(config: EncoderConfig, paths: PathsConfig, trainer: TrainerConfig, say: Say) -> Path:
    world = generate_world(paths.cache / "world", say)
    bilm, target = sample_place(config, paths, world)
    work = target.with_name(f".{target.name}-work")
    corpus = TextCorpus.find(world / "text")
    return pretrain(Pretraining(PretrainConfig(bilm=bilm, trainer=trainer), corpus, target, work), say)


def _untrained(config: EncoderConfig, paths: PathsConfig, say: Say) -> Path:
    bilm = read_config(BilmConfig, config.bilm or {}, "encoder.bilm")
    assert bilm.architecture is not None
    options = bilm.architecture.options()
    recipe = hash_value([bilm.architecture.model_dump(mode="json"), BILM_NUMERICS])[:12]

    def make(directory: Path) -> None:
        generator = torch.Generator().manual_seed(UNTRAINED_SEED)
        save_bilm(BiLM(options, generator), directory)

    return make_once(paths.cache / "models" / f"{config.name}-{recipe}", make, say)


def _static(config: EncoderConfig) -> FoundEncoder:
    if config.file is None or not config.file.is_file():
        raise DataMissingError(
            f"{config.file}: no such file (encoder.file); expected GloVe-like word vectors"
        )
    encoder = WordEncoder(word_table("file", read_vectors(config.file), (), 0, seed=0, trainable=False))
    return FoundEncoder(encoder.card(), lambda: encoder)
