"""A trained language model as a directory: the biLM, its softmax and the words it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from elmo_bench.bilm.array_files import Array, read_arrays, write_arrays
from elmo_bench.bilm.files import load_bilm, save_bilm
from elmo_bench.bilm.layout import find_model
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.trained import SOFTMAX_FILE, VOCABULARY_FILE
from elmo_bench.bilm.training.objective import Softmax
from elmo_bench.bilm.verification import read_finished
from elmo_bench.data.text import TargetVocabulary
from elmo_bench.types import DataError, UsageError

OTHER_SOFTMAX_FILE = "softmax.npz"  # W and b, as written beside models in the published layout


@dataclass(frozen=True)
class LanguageModel:
    """What it takes to predict words, and so to measure perplexity or train further."""

    bilm: BiLM
    softmax: Softmax
    vocabulary: TargetVocabulary


def load_language_model(directory: Path) -> LanguageModel:
    """Read a model with its softmax, in this project's layout or the published one."""
    options, weights, softmax_path, vocabulary_path = find_language_model(directory)
    bilm = load_bilm(options, weights)
    vocabulary = TargetVocabulary.read(vocabulary_path)
    softmax = Softmax(len(vocabulary), bilm.options.projection_dim)
    weight, bias = _read_softmax(softmax_path, softmax)
    softmax.weight.data.copy_(torch.from_numpy(weight.astype(np.float32)))
    softmax.bias.data.copy_(torch.from_numpy(bias.astype(np.float32)))
    return LanguageModel(bilm, softmax, vocabulary)


def find_language_model(directory: Path) -> tuple[Path, Path, Path, Path]:
    """The files of a language model: options, weights, softmax and vocabulary; refused if damaged."""
    options, weights = find_model(directory)
    softmaxes = [path for name in (SOFTMAX_FILE, OTHER_SOFTMAX_FILE) if (path := directory / name).is_file()]
    if not softmaxes:
        raise UsageError(
            f"{directory}: neither {SOFTMAX_FILE} nor {OTHER_SOFTMAX_FILE} is there; without its softmax a "
            "biLM can embed but neither be trained further nor be measured by perplexity"
        )
    vocabulary = directory / VOCABULARY_FILE
    if not vocabulary.is_file():
        raise UsageError(f"{vocabulary}: no such file; without its vocabulary a softmax cannot be used")
    read_finished(directory)
    return options, weights, softmaxes[0], vocabulary


def save_language_model(model: LanguageModel, directory: Path, is_half: bool) -> dict[str, str]:
    """Write all files of a model; gives the sha256 of the contents by file name."""
    dtype = np.float16 if is_half else np.float32
    arrays: dict[str, Array] = {
        name: parameter.detach().cpu().numpy().astype(dtype)
        for name, parameter in model.softmax.named_parameters()
    }
    weights_sha256 = save_bilm(model.bilm, directory, is_half)
    softmax_sha256 = write_arrays(directory / SOFTMAX_FILE, arrays)
    model.vocabulary.write(directory / VOCABULARY_FILE)
    return {
        "weights": weights_sha256,
        "softmax": softmax_sha256,
        "vocabulary": model.vocabulary.sha256,
    }


@torch.no_grad()
def round_to_half(model: LanguageModel) -> None:
    """Give the weights the values their float16 file will have: what is measured is what is kept."""
    for parameter in [*model.bilm.parameters(), *model.softmax.parameters()]:
        parameter.copy_(parameter.half())


def _read_softmax(path: Path, softmax: Softmax) -> tuple[Array, Array]:
    shapes = {"weight": tuple(softmax.weight.shape), "bias": tuple(softmax.bias.shape)}
    if path.name == SOFTMAX_FILE:
        arrays = read_arrays(path, shapes)
        return arrays["weight"], arrays["bias"]
    try:
        with np.load(path, allow_pickle=False) as archive:
            weight, bias = archive["W"], archive["b"]
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise DataError(f"{path}: expected arrays W and b, got {error}") from error
    for name, array in (("weight", weight), ("bias", bias)):
        if array.shape != shapes[name] or not np.isfinite(array).all():
            raise DataError(
                f"{path}: expected finite numbers of shape {shapes[name]}, as {VOCABULARY_FILE} and "
                f"options.json say, got {array.shape}; are they of the same model?"
            )
    return weight, bias
