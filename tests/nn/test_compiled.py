"""The compiled scans against the loops in Python, and a machine without a compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from elmo_bench.nn import compiled
from elmo_bench.nn.dropout import Dropout
from elmo_bench.nn.lstm import BiLstm, HighwayLstm
from elmo_bench.nn.packing import Packing
from elmo_bench.tasks.coref.antecedents import scaled_gradients
from elmo_bench.tasks.coref.lstm import CoupledBiLstm
from elmo_bench.tasks.squad.gru import BiGru

LENGTHS = [40, 37, 37, 21, 20, 13, 9, 3, 3, 3, 2, 1, 1, 33, 8]  # more rows than a tile of the product has
HIDDEN = [5, 16, 33, 45]  # narrower than a vector, one, and with a remainder


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(compiled.SWITCH, "0")
    compiled.load_loops.cache_clear()
    yield
    compiled.load_loops.cache_clear()


class OneWay(HighwayLstm):
    """A highway layer with the interface of the others."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        packing = Packing.of(mask)
        return packing.unpack(super().forward(packing.pack(x), packing))


class Gru(BiGru):
    """A GRU with the interface of the others."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(x, Packing.of(mask))


LAYERS: dict[str, Callable[[int, int], torch.nn.Module]] = {
    "lstm": BiLstm,
    "gru": Gru,
    "highway": lambda inputs, hidden: OneWay(inputs, hidden, 0.2),
    "coupled": lambda inputs, hidden: CoupledBiLstm(inputs, hidden, 0.2),
}


def run(kind: str, hidden: int) -> list[Tensor]:
    """States and gradients of a layer in float32."""
    torch.manual_seed(0)
    layer = LAYERS[kind](7, hidden)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1)
    x = torch.randn(*mask.shape, 7, requires_grad=True)
    states = layer(x, mask)
    variables = [x, *(weight for weight in layer.parameters() if weight.requires_grad)]
    return [states, *torch.autograd.grad((states * torch.linspace(-1, 1, states.shape[2])).sum(), variables)]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("kind", LAYERS)
def test_compiled_layers_are_the_loops(
    kind: str, hidden: int, monkeypatch: pytest.MonkeyPatch, without_compiler: None
) -> None:
    plain = run(kind, hidden)
    monkeypatch.delenv(compiled.SWITCH)
    compiled.load_loops.cache_clear()
    if compiled.load_loops(torch.float32) is None:
        pytest.skip("no C compiler")
    for ours, theirs in zip(run(kind, hidden), plain, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=2e-5)


def drop_and_scale() -> list[Tensor]:
    """Dropout with its gradient, and the gradients of a scaled product."""
    torch.manual_seed(0)
    x = torch.randn(13, 7, 5, requires_grad=True)
    dropped = Dropout(0.3)(x)
    return [
        dropped,
        *torch.autograd.grad(dropped.square().sum(), x),
        *scaled_gradients(torch.randn(3, 4, 37), torch.randn(3, 37), torch.randn(4, 37)),
    ]


def test_the_other_compiled_loops_are_their_operations(
    monkeypatch: pytest.MonkeyPatch, without_compiler: None
) -> None:
    plain = drop_and_scale()
    monkeypatch.delenv(compiled.SWITCH)
    compiled.load_loops.cache_clear()
    if compiled.load_loops(torch.float32) is None:
        pytest.skip("no C compiler")
    ours = drop_and_scale()
    assert torch.equal(ours[0], plain[0]) and torch.equal(ours[1], plain[1])  # a product is rounded once
    for mine, theirs in zip(ours[2:], plain[2:], strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)


def test_a_compiler_that_fails_is_done_without(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch, without_compiler: None
) -> None:
    monkeypatch.delenv(compiled.SWITCH)
    monkeypatch.setenv("CC", "false")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiled.load_loops.cache_clear()
    assert compiled.load_loops(torch.float32) is None
    assert run("lstm", 5)[0].isfinite().all()


def test_a_compiled_library_is_made_once_and_again_when_damaged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    without_compiler: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(compiled.SWITCH)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiled.load_loops.cache_clear()
    if compiled.load_loops(torch.float32) is None:
        pytest.skip("no C compiler")
    (made,) = tmp_path.glob(f"*/*/{compiled.LIBRARY}")
    written, whole = made.stat().st_mtime_ns, made.read_bytes()
    compiled.load_loops.cache_clear()
    assert compiled.load_loops(torch.float32) is not None
    assert made.stat().st_mtime_ns == written
    made.unlink()  # the library that is loaded stays as it is
    made.write_bytes(whole[: len(whole) // 2])
    compiled.load_loops.cache_clear()
    assert compiled.load_loops(torch.float32) is not None
    assert made.stat().st_size == len(whole)
    assert "making it again" in capsys.readouterr().err
