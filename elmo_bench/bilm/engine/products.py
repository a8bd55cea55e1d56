"""Matrix products whose weight is packed once, through oneDNN where PyTorch reaches it.

PyTorch's own product packs the weight anew at every call, which costs more than half of the time at the
64 to 256 rows of a recurrent step. The packed operators are private to PyTorch and forward only, so a plain
product stands in wherever they are absent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

Activation = Literal["none", "relu", "sigmoid", "tanh"]
Product = Callable[[Tensor], Tensor]
"""(rows, inputs) to (rows, outputs), always new memory."""

_PLAIN: dict[Activation, Callable[[Tensor], Tensor]] = {
    "none": lambda sums: sums,
    "relu": torch.relu_,
    "sigmoid": torch.sigmoid_,
    "tanh": torch.tanh_,
}


def make_product(weight: Tensor, bias: Tensor | None, activation: Activation, rows: int) -> Product:
    """activation(inputs · weightᵀ + bias), for inputs on the weight's device, best at `rows` rows."""
    weight = weight.detach().contiguous()
    bias = None if bias is None else bias.detach().contiguous()
    if weight.device.type == "cpu" and is_packing_possible(weight.dtype):
        return _packed_product(weight, bias, activation, rows)
    activate = _PLAIN[activation]
    return lambda inputs: activate(F.linear(inputs, weight, bias))


def _packed_product(weight: Tensor, bias: Tensor | None, activation: Activation, rows: int) -> Product:
    operators: Any = torch.ops.mkldnn
    packed = operators._reorder_linear_weight(weight, rows)
    multiply = operators._linear_pointwise

    def product(inputs: Tensor) -> Tensor:
        outputs: Tensor = multiply(inputs, packed, bias, activation, [], "")
        return outputs

    return product


@cache
def is_packing_possible(dtype: torch.dtype) -> bool:
    """Whether this build of PyTorch packs weights of this precision, tried on a small product."""
    operators: Any = torch.ops.mkldnn
    try:
        if dtype == torch.bfloat16 and not operators._is_mkldnn_bf16_supported():
            return False
        weight = torch.arange(-8.0, 8.0).view(4, 4) / 8
        inputs = torch.eye(4)
        product = _packed_product(weight.to(dtype), None, "relu", 4)
        return torch.equal(product(inputs.to(dtype)).float(), weight.T.relu())
    except (AttributeError, RuntimeError, TypeError):
        return False
