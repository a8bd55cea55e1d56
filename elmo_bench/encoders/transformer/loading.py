"""From files to a model of transformers; what is in it and what is not is checked."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from elmo_bench.encoders.transformer.files import CONFIG, ModelFiles
from elmo_bench.encoders.transformer.packages import import_package, quiet
from elmo_bench.nn.products import make_precise_product
from elmo_bench.types import DataError, UsageError

NOT_NEEDED = re.compile(r"(^|\.)pooler\.")  # a layer over the last one that only makes a vector of the text
LAYER_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
NUMBERS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
SHOWN = 3  # names of weights in a message


@dataclass(frozen=True)
class Sizes:
    """What is known of a model before its weights are read."""

    layer_count: int  # the embeddings and every layer
    dim: int
    parameters: int


def read_sizes(files: ModelFiles) -> Sizes:
    """The sizes by the configuration; the model is built without memory for its weights."""
    config, kind = _architecture(files)
    with quiet(), torch.device("meta"):
        model = _build(files, kind, config)
    parameters = sum(weight.numel() for weight in model.parameters())
    return Sizes(config.num_hidden_layers + 1, config.hidden_size, parameters)


def load_model(files: ModelFiles, dtype: torch.dtype, device: torch.device) -> Any:
    """The frozen model; every weight comes from the files."""
    config, kind = _architecture(files)
    weights = _read_weights(files)
    types = {name: weight.dtype for name, weight in weights.items()}
    with quiet():
        try:
            model, found = kind.from_pretrained(
                None,  # transformers opens no file
                config=config,
                state_dict=weights,
                dtype=dtype,
                ignore_mismatched_sizes=True,  # refused below, by name
                output_loading_info=True,
            )
        except (RuntimeError, ValueError, TypeError, KeyError) as error:
            raise DataError(
                f"{files.directory}: the weights cannot be loaded ({_one_line(error)})"
            ) from error
    del weights  # before the fast products copy theirs
    _refuse_foreign(files, model.state_dict().keys(), found)
    _refuse_quantised(files, model.state_dict(), types)
    _use_fast_products(model.eval().requires_grad_(False).to(device))
    return model


def make_random_model(files: ModelFiles, seed: int) -> Any:
    """The same architecture with the weights with which its training would begin."""
    config, kind = _architecture(files)
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _build(files, kind, config).float()


def _architecture(files: ModelFiles) -> tuple[Any, Any]:
    """The configuration as transformers understands it, and the class of the model without a head."""
    transformers = import_package("transformers")
    path, name = files.directory / CONFIG, files.config["model_type"]
    if name not in transformers.CONFIG_MAPPING:
        raise UsageError(
            f"{path}: transformers {transformers.__version__} has no architecture {name!r}; a newer one may"
        )
    with quiet():
        try:
            config = transformers.CONFIG_MAPPING[name].from_dict(files.config)
        except Exception as error:  # every architecture checks its values in its own way
            raise DataError(f"{path}: not a configuration of {name} ({_one_line(error)})") from error
    if config.is_encoder_decoder:
        raise UsageError(
            f"{path}: {name} is an encoder with a decoder, two stacks of layers that read two texts; "
            "expected an encoder or a decoder alone"
        )
    kind = transformers.MODEL_MAPPING.get(type(config), None)
    kind = kind[0] if isinstance(kind, tuple | list) else kind
    sizes = [getattr(config, key, None) for key in ("num_hidden_layers", "hidden_size", "vocab_size")]
    if getattr(kind, "main_input_name", None) != "input_ids" or not all(
        isinstance(size, int) for size in sizes
    ):
        raise UsageError(f"{path}: {name} is no model that reads one text; expected an encoder or a decoder")
    config.use_cache = False  # decoders would keep what they need to write on
    return config, kind


def _build(files: ModelFiles, kind: Any, config: Any) -> Any:
    try:
        return kind(config)
    except Exception as error:  # every architecture checks its values in its own way
        raise DataError(
            f"{files.directory / CONFIG}: {kind.__name__} cannot be built ({_one_line(error)})"
        ) from error


def _read_weights(files: ModelFiles) -> dict[str, Tensor]:
    weights: dict[str, Tensor] = {}
    for path in files.weights:
        try:
            found = load_file(path)
        except SafetensorError as error:
            raise DataError(f"{path}: not a safetensors file ({_one_line(error)})") from error
        for name, weight in found.items():
            if weight.dtype in NUMBERS and not weight.isfinite().all():
                raise DataError(f"{path}: damaged: {name} has a value that is NaN or infinite")
        weights |= found
    return weights


def _refuse_quantised(files: ModelFiles, expected: dict[str, Tensor], types: dict[str, torch.dtype]) -> None:
    """Weights of few bits need scales and code of their own; read as numbers they would be others."""
    real = tuple(f".{name}" for name, weight in expected.items() if weight.is_floating_point())
    for name, dtype in types.items():
        if dtype not in NUMBERS and f".{name}".endswith(real):  # files may have a prefix: bert.
            raise DataError(
                f"{_shown(files.weights)}: expected weights in float32, bfloat16 or float16, got {name} in "
                f"{str(dtype).removeprefix('torch.')}"
            )


def _refuse_foreign(files: ModelFiles, expected: Collection[str], found: dict[str, Any]) -> None:
    """Transformers fills what the files lack with random numbers and warns; an encoder must not have any."""
    missing = sorted(name for name in found["missing_keys"] if not NOT_NEEDED.search(name))
    if missing:
        raise DataError(
            f"{_shown(files.weights)}: {len(missing)} weights of the architecture in {CONFIG} are missing: "
            f"{_list(missing)}"
        )
    if beyond := sorted(name for name in found["unexpected_keys"] if _is_of_a_further_layer(name, expected)):
        raise DataError(
            f"{_shown(files.weights)}: {len(beyond)} weights belong to layers that {CONFIG} does not have "
            f"(num_hidden_layers is {files.config.get('num_hidden_layers')}): {_list(beyond)}"
        )
    mismatched = sorted(found["mismatched_keys"])
    if mismatched:
        shapes = [f"{name} has {list(got)}, expected {list(expected)}" for name, got, expected in mismatched]
        raise DataError(f"{_shown(files.weights)}: sizes differ from {CONFIG}: {_list(shapes)}")
    if found["error_msgs"]:
        raise DataError(
            f"{_shown(files.weights)}: {_list([str(message) for message in found['error_msgs']])}"
        )


def _is_of_a_further_layer(name: str, expected: Collection[str]) -> bool:
    """Whether a weight has the name of an expected one but for the number of its layer."""
    numbered = (f".{LAYER_NUMBER.sub('#', other)}" for other in expected if LAYER_NUMBER.search(other))
    return f".{LAYER_NUMBER.sub('#', name)}".endswith(tuple(numbered))  # files may have a prefix: bert.


def _use_fast_products(model: Any) -> None:
    """Let the linear layers use the fastest product of this machine; most of the time is spent there."""
    transposed = import_package("transformers").pytorch_utils.Conv1D  # GPT-2's linear layer
    for module in model.modules():
        kind: type = type(module)
        if kind is nn.Linear:
            module.forward = make_precise_product(module.weight, module.bias)
        elif kind is transposed:
            module.forward = make_precise_product(module.weight.T, module.bias)


def _shown(paths: tuple[Path, ...]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _list(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
