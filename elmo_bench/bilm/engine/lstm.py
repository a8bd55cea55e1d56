"""The recurrent loop of the fast engine: one direction of the biLM over the lanes of a chunk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from elmo_bench.bilm.model import LstmStack, ProjectedLstm
from elmo_bench.nn.products import make_product

Resets = Mapping[int, Tensor]
"""For each step, the lanes (a tensor of indices) in which a sentence starts."""


class InferenceLstm:
    """One layer with packed weights.

    Input and state enter one matrix product, so the gate sums are never stored, and oneDNN applies the gate
    functions while it writes the result. The cell is stored doubled, because tanh(c) = 2 σ(2c) - 1 and
    PyTorch's sigmoid is ten times as fast as its tanh; the factors of two are exact.
    """

    def __init__(self, layer: ProjectedLstm, rows: int, dtype: torch.dtype) -> None:
        self.dim = layer.input_weight.shape[1]
        self.cell_dim = layer.cell_dim
        self._dtype = dtype
        self._cell_bound = None if layer.cell_clip is None else 2.0 * layer.cell_clip
        self._output_bound = layer.projection_clip
        weight = torch.cat([layer.input_weight, layer.state_weight], dim=1).detach().to(dtype)
        bias = layer.gate_bias.detach().to(dtype)
        input_gate, forget_gate, candidate, output_gate = weight.chunk(4)
        input_bias, forget_bias, candidate_bias, output_bias = bias.chunk(4)
        self._gates = make_product(
            torch.cat([input_gate, forget_gate, output_gate]),
            torch.cat([input_bias, forget_bias, output_bias]),
            "sigmoid",
            rows,
        )
        self._candidate = make_product(candidate, candidate_bias, "tanh", rows)
        self._project = (
            None
            if layer.projection_weight is None
            else make_product(2.0 * layer.projection_weight.to(dtype), None, "none", rows)
        )

    def run(self, inputs: Tensor, outputs: Tensor, order: Sequence[int], resets: Resets) -> None:
        """Map inputs to outputs, both (steps, lanes, dim), processing the steps in the given order."""
        dim, cells, lanes = self.dim, self.cell_dim, inputs.shape[1]
        joint = inputs.new_zeros(lanes, 2 * dim, dtype=self._dtype)  # input and state side by side
        cell = inputs.new_zeros(lanes, cells)  # doubled
        half_tanh = torch.empty_like(cell)
        token, state = joint[:, :dim], joint[:, dim:]
        for step in order:
            if step in resets:
                state.index_fill_(0, resets[step], 0.0)
                cell.index_fill_(0, resets[step], 0.0)
            token.copy_(inputs[step])
            gates = self._gates(joint)  # (lanes, 3 * cell_dim)
            cell.mul_(gates[:, cells : 2 * cells])
            cell.addcmul_(gates[:, :cells], self._candidate(joint), value=2.0)
            if self._cell_bound is not None:
                cell.clamp_(-self._cell_bound, self._cell_bound)
            torch.sigmoid(cell, out=half_tanh)
            exposed = half_tanh.sub_(0.5).mul_(gates[:, 2 * cells :])  # (lanes, cell_dim), halved
            output = self._expose(exposed)
            outputs[step].copy_(output)
            state.copy_(output)

    def _expose(self, exposed: Tensor) -> Tensor:
        if self._project is None:
            return exposed.mul_(2.0)
        output = self._project(exposed.to(self._dtype))  # (lanes, dim)
        if self._output_bound is not None:
            output.clamp_(-self._output_bound, self._output_bound)
        return output


class InferenceStack:
    """All layers of one direction with packed weights."""

    def __init__(self, stack: LstmStack, rows: int, dtype: torch.dtype) -> None:
        self._use_skip_connections = stack.use_skip_connections
        self._layers = []
        for layer in stack.layers:
            assert isinstance(layer, ProjectedLstm)
            self._layers.append(InferenceLstm(layer, rows, dtype))

    def run(self, inputs: Tensor, order: Sequence[int], resets: Resets) -> Tensor:
        """Token vectors (steps, lanes, dim) to the outputs of all layers (layers, steps, lanes, dim)."""
        outputs = inputs.new_empty(len(self._layers), *inputs.shape)
        for index, layer in enumerate(self._layers):
            layer.run(inputs, outputs[index], order, resets)
            if self._use_skip_connections and index > 0:
                outputs[index].add_(inputs)
            inputs = outputs[index]
        return outputs
