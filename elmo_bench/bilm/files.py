"""Load and save a biLM in the published layout: options.json and a weight file in HDF5 or safetensors.

options.json holds the sizes. The weight file holds named arrays, all stored for x·W as in TensorFlow (the
transpose of ours), with the LSTM's gates in the order i, g, f, o (ours: i, f, g, o). It does not contain the
row of zeros for missing characters, the extra 1 of the forget gate, and the softmax.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from elmo_bench.bilm.array_files import Array, read_arrays, write_arrays
from elmo_bench.bilm.layout import (
    OPTIONS_FILE,
    WEIGHTS_FILE,
    expected_shapes,
    lstm_prefixes,
    read_options,
    write_options,
)
from elmo_bench.bilm.model import BiLM, Highway, ProjectedLstm, TokenEncoder
from elmo_bench.bilm.trained import check_against_record


def load_bilm(options_path: Path, weights_path: Path) -> BiLM:
    """A model with the weights of a file, ready for inference."""
    options = read_options(options_path)
    arrays = read_arrays(weights_path, expected_shapes(options))
    check_against_record(weights_path, options, arrays)
    model = BiLM(options)
    fill_model(model, arrays)
    return model.eval()


def save_bilm(model: BiLM, directory: Path, is_half: bool = False) -> str:
    """Write options.json and weights.safetensors; return the sha256 of the weights' content."""
    directory.mkdir(parents=True, exist_ok=True)
    arrays = export_arrays(model)
    if is_half:
        arrays = {name: array.astype(np.float16) for name, array in arrays.items()}
    write_options(model.options, directory / OPTIONS_FILE)
    return write_arrays(directory / WEIGHTS_FILE, arrays)


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
    return zip(lstm_prefixes(model.options), cast(list[ProjectedLstm], layers), strict=True)


def _swap_gates(gates: Tensor) -> Tensor:
    """Convert between the file's order i, j, f, o and ours, i, f, j, o, along the last dimension."""
    input_gate, second, third, output_gate = gates.chunk(4, dim=-1)
    return torch.cat([input_gate, third, second, output_gate], dim=-1)
