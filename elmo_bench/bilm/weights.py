"""A biLM in the published weight layout (SPEC 1.6), and the directory that holds one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from elmo_bench.bilm.containers import Array, Shapes, read_arrays, write_arrays
from elmo_bench.bilm.lstm import ProjectedLstm
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.options import CHARACTERS, BilmOptions
from elmo_bench.bilm.token_encoder import Highway, TokenEncoder
from elmo_bench.types import DataMissingError, UsageError

OPTIONS_FILE = "options.json"
WEIGHTS_FILE = "weights.safetensors"
USUAL_NAMES = (WEIGHTS_FILE, "weights.hdf5", "lm_weights.hdf5", "model.safetensors")
USUAL_PATTERNS = ("*weights.safetensors", "*weights.hdf5", "*weights.h5")


def expected_shapes(options: BilmOptions) -> Shapes:
    """The name and shape of every array in a weight file of these options."""
    features, dim, cells = options.filter_count, options.projection_dim, options.cell_dim
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (CHARACTERS, options.character_dim)}
    for index, (width, count) in enumerate(options.filters):
        shapes[f"CNN/W_cnn_{index}"] = (1, width, options.character_dim, count)
        shapes[f"CNN/b_cnn_{index}"] = (count,)
    for index in range(options.highways):
        for part in ("carry", "transform"):
            shapes[f"CNN_high_{index}/W_{part}"] = (features, features)
            shapes[f"CNN_high_{index}/b_{part}"] = (features,)
    if options.has_token_projection:
        shapes["CNN_proj/W_proj"] = (features, dim)
        shapes["CNN_proj/b_proj"] = (dim,)
    for prefix in _lstm_prefixes(options):
        shapes[f"{prefix}/W_0"] = (2 * dim, 4 * cells)
        shapes[f"{prefix}/B"] = (4 * cells,)
        if options.has_state_projection:
            shapes[f"{prefix}/W_P_0"] = (cells, dim)
    return shapes


def _lstm_prefixes(options: BilmOptions) -> list[str]:
    return [
        f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
        for direction in (0, 1)
        for layer in range(options.layers)
    ]


@torch.no_grad()
def export_arrays(model: BiLM) -> dict[str, Array]:
    """The published arrays of a model."""
    tensors = dict(_encoder_views(model.token_encoder))
    for prefix, layer in _lstm_layers(model):
        kernel = torch.cat([layer.input_weight.T, layer.state_weight.T])
        tensors[f"{prefix}/W_0"] = _swap_gates(kernel)
        tensors[f"{prefix}/B"] = _swap_gates(layer.bias)
        if layer.projection_weight is not None:
            tensors[f"{prefix}/W_P_0"] = layer.projection_weight.T
    return {name: tensor.cpu().numpy().astype(np.float32, order="C") for name, tensor in tensors.items()}


@torch.no_grad()
def fill_model(model: BiLM, arrays: Mapping[str, Array]) -> None:
    """Copy published arrays into a model; half precision widens to single."""
    tensors = {name: torch.from_numpy(np.asarray(array, np.float32)) for name, array in arrays.items()}
    for name, view in _encoder_views(model.token_encoder):
        view.copy_(tensors[name])
    for prefix, layer in _lstm_layers(model):
        from_input, from_state = _swap_gates(tensors[f"{prefix}/W_0"]).chunk(2)
        layer.input_weight.copy_(from_input.T)
        layer.state_weight.copy_(from_state.T)
        layer.bias.copy_(_swap_gates(tensors[f"{prefix}/B"]))
        if layer.projection_weight is not None:
            layer.projection_weight.copy_(tensors[f"{prefix}/W_P_0"].T)


def _encoder_views(encoder: TokenEncoder) -> Iterator[tuple[str, Tensor]]:
    """Each published array of the token encoder as a view into its parameters."""
    yield "char_embed", encoder.characters.weight[1:]  # row 0, the missing token, stays zero
    for index, convolution in enumerate(encoder.convolutions):
        assert isinstance(convolution, nn.Conv1d) and convolution.bias is not None
        yield f"CNN/W_cnn_{index}", convolution.weight.permute(2, 1, 0).unsqueeze(0)
        yield f"CNN/b_cnn_{index}", convolution.bias
    for index, highway in enumerate(encoder.highways):
        assert isinstance(highway, Highway)
        for part, linear in (("carry", highway.gate), ("transform", highway.transform)):
            yield f"CNN_high_{index}/W_{part}", linear.weight.T
            yield f"CNN_high_{index}/b_{part}", linear.bias
    if isinstance(encoder.projection, nn.Linear):
        yield "CNN_proj/W_proj", encoder.projection.weight.T
        yield "CNN_proj/b_proj", encoder.projection.bias


def _lstm_layers(model: BiLM) -> Iterator[tuple[str, ProjectedLstm]]:
    layers = [*model.forward_stack.layers, *model.backward_stack.layers]
    return zip(_lstm_prefixes(model.options), cast(list[ProjectedLstm], layers), strict=True)


def _swap_gates(gates: Tensor) -> Tensor:
    """Between the file's order i, j, f, o and ours, i, f, j, o, along the last dimension, either way."""
    entry, second, third, exit_ = gates.chunk(4, dim=-1)
    return torch.cat([entry, third, second, exit_], dim=-1)


def load_bilm(options_path: Path, weights_path: Path) -> BiLM:
    """A model with the weights of a file, ready for inference."""
    options = BilmOptions.read(options_path)
    arrays = read_arrays(weights_path, expected_shapes(options))
    model = BiLM(options)
    fill_model(model, arrays)
    return model.eval()


def save_bilm(model: BiLM, directory: Path, is_half: bool = False) -> str:
    """Write options.json and weights.safetensors; gives the sha256 of the weights' content."""
    directory.mkdir(parents=True, exist_ok=True)
    arrays = export_arrays(model)
    if is_half:
        arrays = {name: array.astype(np.float16) for name, array in arrays.items()}
    model.options.write(directory / OPTIONS_FILE)
    return write_arrays(directory / WEIGHTS_FILE, arrays)


def convert_weights(options_path: Path, source: Path, target: Path) -> str:
    """Copy weights between HDF5 and safetensors, value for value; gives the sha256 of their content."""
    return write_arrays(target, read_arrays(source, expected_shapes(BilmOptions.read(options_path))))


def find_model(path: Path) -> tuple[Path, Path]:
    """The options and weights of a model, given its directory or its weight file."""
    if not path.exists():
        raise DataMissingError(f"{path}: no such model; expected a directory with {OPTIONS_FILE} and weights")
    directory = path if path.is_dir() else path.parent
    weights = _find_weights(path) if path.is_dir() else path
    return _find_options(directory, weights), weights


def _find_weights(directory: Path) -> Path:
    for name in USUAL_NAMES:
        if (directory / name).is_file():
            return directory / name
    found = sorted(path for pattern in USUAL_PATTERNS for path in directory.glob(pattern))
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(path.name for path in found)
        raise UsageError(f"{directory}: expected one weight file, got {names}; name the file instead")
    raise DataMissingError(
        f"{directory}: expected a weight file such as {', '.join(USUAL_NAMES[:2])}, got none"
    )


def _find_options(directory: Path, weights: Path) -> Path:
    """options.json, or the published pair of names: <stem>_options.json beside <stem>_weights.hdf5."""
    paired = directory / f"{weights.stem.removesuffix('weights')}options.json"
    for path in (paired, directory / OPTIONS_FILE):
        if path.is_file():
            return path
    raise DataMissingError(f"{directory}: expected {OPTIONS_FILE} beside {weights.name}, got none")
