"""BiLMs from files (a model directory or a published pair of files), and biLMs with random weights."""

from __future__ import annotations

import copy
from abc import abstractmethod
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic.dataclasses import dataclass

from elmo_bench.bilm.identity import BILM_NUMERICS, Precision, count_parameters, fingerprint_file
from elmo_bench.bilm.layout import OPTIONS_FILE, find_model, read_options
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.encoders.protocol import EncoderCard, EncoderContext, EncoderPlugin, FoundEncoder
from elmo_bench.files import make_once
from elmo_bench.hashing import FileState, file_state, hash_value
from elmo_bench.types import DataMissingError

if TYPE_CHECKING:  # PyTorch is imported only to load a model
    from elmo_bench.bilm.engine.embedder import Embedder
    from elmo_bench.bilm.model import BiLM

UNTRAINED_SEED = 1


@dataclass(frozen=True, kw_only=True)
class BilmPlugin(EncoderPlugin):
    """Any biLM; every sentence starts from a zero state."""

    precision: Precision = "float32"

    @abstractmethod
    def locate(self, context: EncoderContext) -> tuple[Path, Path]:
        """The paths of the options file and the weight file."""

    def sizes(self, context: EncoderContext) -> BilmOptions:
        """The sizes that decide the shape of every array."""
        return read_options(self.locate(context)[0])

    def untrained(self, context: EncoderContext) -> EncoderPlugin:
        return RandomBilm(architecture=self.sizes(context), precision=self.precision)

    def find(self, context: EncoderContext) -> FoundEncoder:
        options, weights = self.locate(context)
        sizes = read_options(options)
        fingerprint = _fingerprint(sizes, weights, file_state(weights), self.precision)
        parameters = count_parameters(sizes)
        card = bilm_card(context.name, fingerprint, sizes.layers, sizes.projection_dim, parameters)
        return FoundEncoder(card, lambda: _load(options, weights, self.precision, context.device))


@dataclass(frozen=True, kw_only=True)
class DirectoryBilm(BilmPlugin):
    """`encoder=model encoder.directory=DIR`: a directory with options.json and weights."""

    directory: Path
    get: str = ""  # how to obtain the model

    def locate(self, context: EncoderContext) -> tuple[Path, Path]:
        if not self.directory.exists():
            raise DataMissingError(
                f"{self.directory}: no such model (encoder.directory); expected a directory with "
                f"{OPTIONS_FILE} and weights{f'. To get it: {self.get}' if self.get else ''}"
            )
        return find_model(self.directory)

    def language_model(self, context: EncoderContext) -> Path:
        return self.directory


@dataclass(frozen=True, kw_only=True)
class FileBilm(BilmPlugin):
    """`encoder=file encoder.options=FILE encoder.weights=FILE`: weights as published."""

    options: Path
    weights: Path

    def locate(self, context: EncoderContext) -> tuple[Path, Path]:
        for key, path in (("options", self.options), ("weights", self.weights)):
            if not path.is_file():
                raise DataMissingError(f"{path}: no such file (encoder.{key})")
        return self.options, self.weights


@dataclass(frozen=True, kw_only=True)
class RandomBilm(BilmPlugin):
    """A biLM of given sizes with random weights, the same in every run; written below paths.cache."""

    architecture: BilmOptions

    def locate(self, context: EncoderContext) -> tuple[Path, Path]:
        recipe = [self.architecture.model_dump(mode="json"), BILM_NUMERICS]
        target = context.paths.cache / "models" / f"untrained-{hash_value(recipe)[:12]}"

        def write(directory: Path) -> None:
            import torch

            from elmo_bench.bilm.files import save_bilm
            from elmo_bench.bilm.model import BiLM

            save_bilm(BiLM(self.architecture, torch.Generator().manual_seed(UNTRAINED_SEED)), directory)

        return find_model(make_once(target, write, context.log))


def bilm_card(
    name: str, fingerprint: str, layers: int, projection_dim: int, parameters: int | None = None
) -> EncoderCard:
    """The card of a biLM: its LSTM layers and layer 0, each with both directions concatenated."""
    return EncoderCard(name, fingerprint, layers + 1, 2 * projection_dim, True, parameters)


@lru_cache(maxsize=8)
def _fingerprint(options: BilmOptions, weights: Path, _: FileState, precision: Precision) -> str:
    """A model's fingerprint, computed once per process as long as its weights do not change."""
    return fingerprint_file(options, weights, "reset", precision)


def _load(options: Path, weights: Path, precision: Precision, device: str) -> Embedder:
    from elmo_bench.bilm.engine.embedder import Embedder

    model = _read(options, weights, file_state(options), file_state(weights))
    return Embedder(on_device(model, device), precision)


def on_device(model: BiLM, device: str) -> BiLM:
    """The model where it shall compute; the one in memory stays where it is."""
    from elmo_bench.tensors import check_device

    target = check_device(device, "encoder.device")
    return model if target == next(model.parameters()).device else copy.deepcopy(model).to(target)


@lru_cache(maxsize=1)
def _read(options: Path, weights: Path, *_: FileState) -> BiLM:
    """A model, read once for all splits of a run."""
    from elmo_bench.bilm.files import load_bilm

    return load_bilm(options, weights)
