"""The packed recurrence of training against the model's plain loop: values and every gradient, in float64."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from elmo_bench.bilm.model import LstmStack, ProjectedLstm
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.bilm.training.arithmetic import Arithmetic
from elmo_bench.bilm.training.packed_lstm import Direction, run_layers_packed, run_stacks_packed

OPTIONS = BilmOptions(character_dim=2, filters=((1, 3),), highways=0, layers=2, cell_dim=5, projection_dim=3)
CELL_CLIP, PROJECTION_CLIP = 0.4, 0.15
CLIPS = [(None, None), (CELL_CLIP, None), (None, PROJECTION_CLIP), (CELL_CLIP, PROJECTION_CLIP)]


def options(**changes: object) -> BilmOptions:
    return OPTIONS.model_copy(update=changes)


def draw_weights(module: nn.Module) -> None:
    """Weights strong enough that clips are reached."""
    generator = torch.Generator().manual_seed(3)
    module.double()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.6, generator=generator)


def make_layer(chosen: BilmOptions = OPTIONS) -> ProjectedLstm:
    layer = ProjectedLstm(chosen)
    draw_weights(layer)
    return layer


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def pack(rows: Sequence[Tensor]) -> tuple[Tensor, list[int]]:
    """Rows of falling length, time-major without padding."""
    counts = [sum(len(row) > step for row in rows) for step in range(len(rows[0]))]
    return torch.stack([row[step] for step, count in enumerate(counts) for row in rows[:count]]), counts


@pytest.mark.parametrize("clips", CLIPS)
@pytest.mark.parametrize("projection_dim", [3, 5])  # 5: no projection, as the published code has it
@pytest.mark.parametrize("lengths", [(1,), (4, 4), (5, 3, 3, 1)])
def test_a_layer_equals_the_plain_loop(
    clips: tuple[float | None, float | None], projection_dim: int, lengths: tuple[int, ...]
) -> None:
    layer = make_layer(options(projection_dim=projection_dim, cell_clip=clips[0], projection_clip=clips[1]))
    padded = draw(len(lengths), lengths[0], projection_dim).requires_grad_()

    def unpad(rows: Tensor) -> Tensor:
        return pack([row[:length] for row, length in zip(rows, lengths, strict=True)])[0]

    plain, plain_state = layer(padded, torch.tensor(lengths))
    expected = unpad(plain)
    inputs = unpad(padded).detach().requires_grad_()
    _, counts = pack([padded[row, :length] for row, length in enumerate(lengths)])
    [(outputs, state)] = run_layers_packed([Direction(layer, inputs, counts)])
    torch.testing.assert_close(outputs, expected, rtol=0, atol=1e-14)
    for ours, theirs in zip(state, plain_state, strict=True):
        torch.testing.assert_close(ours, theirs[: counts[-1]], rtol=0, atol=1e-14)

    weights = draw(*outputs.shape)
    ours = torch.autograd.grad((outputs * weights).sum(), [inputs, *layer.parameters()])
    theirs = torch.autograd.grad((expected * weights).sum(), [padded, *layer.parameters()])
    for our, their in zip(ours, [unpad(theirs[0]), *theirs[1:]], strict=True):
        torch.testing.assert_close(our, their, rtol=0, atol=1e-13)


def test_the_clips_of_that_comparison_bind() -> None:
    """Otherwise it would say nothing about the gradient of a clip."""
    layer = make_layer(options(cell_clip=CELL_CLIP, projection_clip=PROJECTION_CLIP))
    [(outputs, (_, cell))] = run_layers_packed([Direction(layer, draw(20, 3), [20])])
    for values, bound in ((outputs, PROJECTION_CLIP), (cell, CELL_CLIP)):
        share = (values.abs() == bound).double().mean().item()
        assert 0.05 < share < 0.95


@pytest.mark.parametrize("clips", CLIPS)
def test_gradients_are_those_of_finite_differences(clips: tuple[float | None, float | None]) -> None:
    layer = make_layer(options(cell_clip=clips[0], projection_clip=clips[1]))

    def run(inputs: Tensor, *_: Tensor) -> Tensor:
        return run_layers_packed([Direction(layer, inputs, [3, 2, 1])])[0][0]

    assert torch.autograd.gradcheck(run, (draw(6, 3).requires_grad_(), *layer.parameters()))


def test_a_carried_state_continues_where_it_stopped() -> None:
    layer, inputs = make_layer(), draw(12, 3)
    [(whole, whole_state)] = run_layers_packed([Direction(layer, inputs, [2] * 6)])
    [(first, state)] = run_layers_packed([Direction(layer, inputs[:8], [2] * 4)])
    [(second, last_state)] = run_layers_packed([Direction(layer, inputs[8:], [2] * 2, state)])
    torch.testing.assert_close(torch.cat([first, second]), whole, rtol=0, atol=1e-14)
    for ours, theirs in zip(last_state, whole_state, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-14)


@pytest.mark.parametrize("use_skip_connections", [True, False])
def test_a_stack_equals_the_plain_stack(use_skip_connections: bool) -> None:
    stack = LstmStack(options(use_skip_connections=use_skip_connections))
    draw_weights(stack)
    inputs = draw(1, 7, 3)
    plain, _ = stack(inputs, torch.tensor([7]))
    [(ours, _)] = run_stacks_packed([Direction(stack, inputs[0], [1] * 7)])
    torch.testing.assert_close(ours, plain[-1][0], rtol=0, atol=1e-14)


def test_products_in_half_precision_stay_close() -> None:
    layer = make_layer().float()
    inputs = draw(30, 3).float().requires_grad_()
    [(exact, _)] = run_layers_packed([Direction(layer, inputs, [6] * 5)])
    [(half, _)] = run_layers_packed([Direction(layer, inputs, [6] * 5)], Arithmetic(torch.bfloat16))
    assert half.dtype == torch.float32
    assert 0 < (half - exact).abs().max() < 0.05
    gradients = [
        torch.autograd.grad(outputs.square().sum(), [inputs, *layer.parameters()])
        for outputs in (exact, half)
    ]
    for a, b in zip(*gradients, strict=True):
        assert nn.functional.cosine_similarity(a.flatten(), b.flatten(), dim=0) > 0.998


def test_two_directions_together_are_each_by_itself(threads: int) -> None:
    layers = [make_layer(), make_layer(options(cell_clip=CELL_CLIP))]
    inputs = [draw(6, 3).requires_grad_(), draw(5, 3).requires_grad_()]
    directions = [Direction(*each) for each in zip(layers, inputs, ([3, 2, 1], [2, 2, 1]), strict=True)]
    together = run_layers_packed(directions)
    alone = [run_layers_packed([direction])[0] for direction in directions]
    for results in zip(together, alone, strict=True):
        for ours, theirs in zip(*([outputs, *state] for outputs, state in results), strict=True):
            assert torch.equal(ours, theirs)
    gradients = [
        torch.autograd.grad(
            torch.stack([outputs.square().sum() for outputs, _ in results]).sum(),
            [*inputs, *(weight for layer in layers for weight in layer.parameters())],
        )
        for results in (together, alone)
    ]
    for ours, theirs in zip(*gradients, strict=True):
        assert torch.equal(ours, theirs)
    assert torch.get_num_threads() == threads


def test_dropout_is_drawn_direction_by_direction() -> None:
    """Models are trained again bit for bit, so the order of random numbers must not change."""
    stacks = [LstmStack(OPTIONS), LstmStack(OPTIONS)]
    for stack in stacks:
        draw_weights(stack)
    inputs = [draw(4, 3), draw(3, 3)]
    torch.manual_seed(5)
    expected = []
    for stack, entering in zip(stacks, inputs, strict=True):
        dropped = nn.functional.dropout(entering, 0.5)
        for index, layer in enumerate(stack.layers):
            assert isinstance(layer, ProjectedLstm)
            [(outputs, _)] = run_layers_packed([Direction(layer, dropped, [1] * len(dropped))])
            dropped = nn.functional.dropout(outputs + dropped if index else outputs, 0.5)
        expected.append(dropped)
    torch.manual_seed(5)
    directions = [
        Direction(stack, entering, [1] * len(entering))
        for stack, entering in zip(stacks, inputs, strict=True)
    ]
    for (found, _), their in zip(run_stacks_packed(directions, 0.5), expected, strict=True):
        assert torch.equal(found, their)
        assert bool((found == 0).any())
