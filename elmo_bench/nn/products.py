"""Matrix products through oneDNN, where PyTorch's CPU build has it.

PyTorch has no public switch for these operators, so they are called by name, and only where they exist.
`multiply` is for training: for float32 on a CPU, oneDNN is about twice as fast as torch's default product
on some processors and never much slower. `make_product` is for inference with a fixed weight: it packs the
weight once. PyTorch's own product packs it at every call, which costs more than half of the time at the 64 to
256 rows of a recurrent step. `make_precise_product` is for inference with many rows and deep models.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

Activation = Literal["none", "relu", "sigmoid", "tanh"]
Product = Callable[[Tensor], Tensor]
"""(rows, inputs) to (rows, outputs), always new memory."""

SLICE = 96
"""Inputs that oneDNN adds up at once in a precise product."""

LARGE_PRODUCT = 2**21
"""Multiplications of one pair of a batch from which on oneDNN is faster than torch.bmm."""

_PLAIN: dict[Activation, Callable[[Tensor], Tensor]] = {
    "none": lambda sums: sums,
    "relu": torch.relu_,
    "sigmoid": torch.sigmoid_,
    "tanh": torch.tanh_,
}


_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")  # type: ignore[no-untyped-call]


def multiply(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """The product of two matrices, plus a bias for every row; gradients are the caller's business."""
    if _ONEDNN and left.device.type == "cpu" and left.dtype == right.dtype == torch.float32:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(left, right.T, bias, "none", [], "")
        return product
    return left @ right if bias is None else torch.addmm(bias, left, right)


def multiply_columns(left: Tensor, right: Tensor) -> Tensor:
    """left' right, (rows, m) and (rows, n) to (m, n): oneDNN copies what it turns, hence the narrow one."""
    if left.shape[1] <= right.shape[1]:
        return multiply(left.T, right)
    return multiply(right.T, left).T.contiguous()


def make_precise_product(weight: Tensor, bias: Tensor | None) -> Product:
    """inputs · weightᵀ + bias, as exact as torch's default product, for inputs of any shape (..., inputs).

    oneDNN adds up all inputs in one row of sums, so its rounding errors are larger: after the twelve layers
    of a transformer they were 2e-5. Sums of slices have errors as small as those of the default product. The
    slices are a copy of the weight, because oneDNN is very slow if they are views.
    """
    weight = weight.detach()
    if not _ONEDNN or weight.device.type != "cpu" or weight.dtype != torch.float32:
        return lambda inputs: F.linear(inputs, weight, bias)
    multiply: Any = torch.ops.mkldnn._linear_pointwise
    size = SLICE
    slices = [weight[:, start : start + size].contiguous() for start in range(0, weight.shape[1], size)]

    def product(inputs: Tensor) -> Tensor:
        outputs: Tensor = multiply(inputs[..., :size].contiguous(), slices[0], bias, "none", [], "")
        for number, part in enumerate(slices[1:], start=1):
            chosen = inputs[..., number * size : (number + 1) * size].contiguous()
            outputs += multiply(chosen, part, None, "none", [], "")
        return outputs

    return product


def multiply_with_gradient(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x (tokens, inputs) times a weight (outputs, inputs) transposed, plus a bias; differentiable once.

    Under autocast in its precision, as products of PyTorch's own are.
    """
    device = x.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        x, weight, bias = x.to(dtype), weight.to(dtype), None if bias is None else bias.to(dtype)
    product: Tensor = _Product.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return product


class _Product(torch.autograd.Function):
    """Y = X W' + b. With G the gradient of Y: of X, G W; of W, G' X; of b, the sum of G's rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return multiply(x, weight.T, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        gradient = gradient.contiguous()  # oneDNN takes thousands of times as long over an expanded weight
        of_x = multiply(gradient, weight) if ctx.needs_input_grad[0] else None
        of_weight = multiply_columns(gradient, x) if ctx.needs_input_grad[1] else None
        return of_x, of_weight, gradient.sum(0) if ctx.needs_input_grad[2] else None


def multiply_batches(left: Tensor, right: Tensor) -> Tensor:
    """Products of matrix pairs, (pairs, n, k) and (pairs, k, m) to (pairs, n, m), differentiable once."""
    device = left.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        left, right = left.to(dtype), right.to(dtype)
    product: Tensor = _BatchedProduct.apply(left, right)  # type: ignore[no-untyped-call]
    return product


class _BatchedProduct(torch.autograd.Function):
    """Y = L R for every pair. With G the gradient of Y, that of L is G R' and that of R is L' G."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor) -> Tensor:
        ctx.save_for_backward(left, right)
        if is_large(left, right):
            return torch.stack([multiply(one, other) for one, other in zip(left, right, strict=True)])
        return torch.bmm(left, right)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        left, right = ctx.saved_tensors
        gradient = gradient.contiguous()
        if is_large(left, right):
            of_left = [multiply(one, other.T) for one, other in zip(gradient, right, strict=True)]
            of_right = [multiply_columns(one, other) for one, other in zip(left, gradient, strict=True)]
            return torch.stack(of_left), torch.stack(of_right)
        return torch.bmm(gradient, right.transpose(1, 2)), torch.bmm(left.transpose(1, 2), gradient)


def is_large(left: Tensor, right: Tensor) -> bool:
    """Whether one pair is large enough for oneDNN; torch.bmm has less overhead and half the speed."""
    return left[0].numel() * right.shape[2] >= LARGE_PRODUCT


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
