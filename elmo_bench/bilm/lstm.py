"""One direction of the biLM: LSTM layers with a projected, clipped state (SPEC 1.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.bilm.options import BilmOptions

State = tuple[Tensor, Tensor]
"""The projected output (rows, projection_dim) and the cell (rows, cell_dim) after the last step."""


class ProjectedLstm(nn.Module):
    """One layer in one direction; gates in the order input, forget, candidate, output.

    `bias` is what a weight file holds; the forget gate's extra 1 is in `gate_bias`, so that files survive
    a round trip to the last bit. Where the projection would not change the width there is none.
    """

    def __init__(self, options: BilmOptions) -> None:
        super().__init__()
        cell_dim, dim = options.cell_dim, options.projection_dim
        self.cell_dim = cell_dim
        self.cell_clip = options.cell_clip
        self.projection_clip = options.projection_clip
        self.input_weight = nn.Parameter(torch.zeros(4 * cell_dim, dim))
        self.state_weight = nn.Parameter(torch.zeros(4 * cell_dim, dim))
        self.bias = nn.Parameter(torch.zeros(4 * cell_dim))
        self.projection_weight = (
            nn.Parameter(torch.zeros(dim, cell_dim)) if options.has_state_projection else None
        )
        forget_offset = torch.zeros(4 * cell_dim)
        forget_offset[cell_dim : 2 * cell_dim] = 1.0
        self.register_buffer("forget_offset", forget_offset, persistent=False)

    @property
    def gate_bias(self) -> Tensor:
        """The bias as it is used, with 1 added to the forget gate."""
        offset = self.forget_offset
        assert isinstance(offset, Tensor)
        return self.bias + offset

    def initial_state(self, rows: int) -> State:
        """Zeros, which is where every sentence starts unless state is carried."""
        weight = self.state_weight
        return weight.new_zeros(rows, weight.shape[1]), weight.new_zeros(rows, self.cell_dim)

    def forward(
        self, inputs: Tensor, lengths: Tensor | None = None, state: State | None = None
    ) -> tuple[Tensor, State]:
        """Run over (rows, time, dim); beyond a row's length outputs are zero and its state rests."""
        projected, cell = self.initial_state(inputs.shape[0]) if state is None else state
        from_input = F.linear(inputs, self.input_weight, self.gate_bias)  # (rows, time, 4 * cell_dim)
        outputs = []
        for step in range(inputs.shape[1]):
            gates = from_input[:, step] + F.linear(projected, self.state_weight)  # (rows, 4 * cell_dim)
            new_projected, new_cell = self.step(gates, cell)
            if lengths is None:
                projected, cell = new_projected, new_cell
                outputs.append(projected)
                continue
            is_inside = (lengths > step).unsqueeze(1)  # (rows, 1)
            projected = torch.where(is_inside, new_projected, projected)
            cell = torch.where(is_inside, new_cell, cell)
            outputs.append(new_projected * is_inside)
        return torch.stack(outputs, dim=1), (projected, cell)

    def step(self, gates: Tensor, cell: Tensor) -> State:
        """One step from gate sums (rows, 4 * cell_dim) and the old cell (rows, cell_dim)."""
        entry, forget, candidate, exit_ = gates.chunk(4, dim=1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(entry) * torch.tanh(candidate)
        if self.cell_clip is not None:
            cell = cell.clamp(-self.cell_clip, self.cell_clip)
        output = torch.sigmoid(exit_) * torch.tanh(cell)  # (rows, cell_dim)
        if self.projection_weight is None:
            return output, cell
        projected = F.linear(output, self.projection_weight)  # (rows, dim)
        if self.projection_clip is not None:  # as in TensorFlow, only where there is a projection
            projected = projected.clamp(-self.projection_clip, self.projection_clip)
        return projected, cell


Recurrence = Callable[[ProjectedLstm, Tensor, Tensor | None, State | None], tuple[Tensor, State]]
"""How a layer is run over time: (layer, inputs, lengths, state) to (outputs, state)."""


def run_plainly(
    layer: ProjectedLstm, inputs: Tensor, lengths: Tensor | None, state: State | None
) -> tuple[Tensor, State]:
    """Run a layer by its own loop."""
    outputs: tuple[Tensor, State] = layer(inputs, lengths, state)
    return outputs


class LstmStack(nn.Module):
    """All layers of one direction; from the second on, a layer's input is added to its output."""

    def __init__(self, options: BilmOptions) -> None:
        super().__init__()
        self.use_skip_connections = options.use_skip_connections
        self.layers = nn.ModuleList(ProjectedLstm(options) for _ in range(options.layers))

    def forward(
        self,
        inputs: Tensor,
        lengths: Tensor | None = None,
        states: Sequence[State] | None = None,
        dropout: float = 0.0,
        recurrence: Recurrence = run_plainly,
    ) -> tuple[list[Tensor], list[State]]:
        """The output of every layer (rows, time, dim), and every layer's state after the last step.

        In training mode each layer's input is dropped out, and so is the last output. The dropped input is
        also what the skip connection adds (bilm-tf wraps dropout around the residual).
        """
        outputs: list[Tensor] = []
        final_states: list[State] = []
        for index, layer in enumerate(self.layers):
            assert isinstance(layer, ProjectedLstm)
            inputs = F.dropout(inputs, dropout, self.training)
            output, state = recurrence(layer, inputs, lengths, None if states is None else states[index])
            if self.use_skip_connections and index > 0:
                output = output + inputs
            outputs.append(output)
            final_states.append(state)
            inputs = output
        outputs[-1] = F.dropout(outputs[-1], dropout, self.training)
        return outputs, final_states
