"""How weights begin: the rules of the programs that the heads follow.

docs/MODELS.md says which head has which. Matrices are (outputs, inputs), as in nn.Linear. A layer that is not
made here has PyTorch's own rule, U(±1/sqrt(inputs)) for weights and biases, which is also AllenNLP's.
"""

from __future__ import annotations

from torch import Tensor, nn


def draw_uniform(weight: Tensor, reach: float) -> Tensor:
    """U(±reach)."""
    return nn.init.uniform_(weight, -reach, reach)


def draw_glorot(weight: Tensor, positions: int = 1) -> Tensor:
    """Glorot's uniform distribution with the fans that TensorFlow counts.

    A vector counts as a square matrix. A convolution's matrix is (filters, width * inputs), and each of its
    filters counts once for every position in its window: `positions` is the width.
    """
    outputs, inputs = (weight.numel(), weight.numel()) if weight.dim() < 2 else weight.shape
    return draw_uniform(weight, (6 / (inputs + positions * outputs)) ** 0.5)


def draw_orthogonal(weight: Tensor, blocks: int) -> None:
    """Each of the stacked gate blocks of a weight orthogonal on its own."""
    for block in weight.data.chunk(blocks):
        nn.init.orthogonal_(block)


def draw_truncated_normal(weight: Tensor, deviation: float) -> Tensor:
    """N(0, deviation²) without what lies further out than two deviations."""
    return nn.init.trunc_normal_(weight, std=deviation, a=-2 * deviation, b=2 * deviation)


def make_embedding(rows: int, dim: int, padding: bool = False) -> nn.Embedding:
    """Vectors by Glorot, as TensorFlow and AllenNLP draw them; row 0 may be padding, which is zero."""
    made = nn.Embedding(rows, dim, padding_idx=0 if padding else None)
    draw_glorot(made.weight)
    if padding:
        nn.init.zeros_(made.weight.data[0])
    return made


def make_keras_linear(inputs: int, outputs: int, bias: bool = True) -> nn.Linear:
    """Weights by Glorot, biases zero, as Keras's layers have it."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    draw_glorot(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def make_tensorflow_linear(inputs: int, outputs: int, bias: bool = True, positions: int = 1) -> nn.Linear:
    """Weights and biases by Glorot, as TensorFlow's variables have it without an initialiser."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    draw_glorot(layer.weight, positions)
    if bias:
        draw_glorot(layer.bias)
    return layer


def initialise_lstm(lstm: nn.LSTM) -> None:
    """Input weights by Glorot, recurrent ones orthogonal per gate, forget bias 1, as Keras has it."""
    for name, parameter in lstm.named_parameters():
        if name.startswith("bias_hh"):  # torch has two biases where one is meant
            nn.init.zeros_(parameter).requires_grad_(False)
        elif name.startswith("weight_ih"):
            draw_glorot(parameter)
        elif name.startswith("weight_hh"):
            draw_orthogonal(parameter, blocks=4)
        else:
            nn.init.zeros_(parameter)
            nn.init.ones_(parameter.data.chunk(4)[1])
