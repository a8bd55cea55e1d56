"""Every head learns and decodes in mixed precision on a CPU, near to what it does in float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from elmo_bench.testing.tasks import as_module, build_batch, build_head, build_injection, build_vocabularies
from tests.contract.test_tasks import EXAMPLES, examples_of
from tests.support.composition import TASKS

STEPS = 15
NEAR = 0.03  # of the loss: bfloat16 has eight bits
ALIKE = 0.98  # cosine of the gradients


def mixed(is_on: bool) -> Any:
    return torch.autocast("cpu", torch.bfloat16, enabled=is_on)


@pytest.mark.parametrize("task", TASKS)
def test_a_head_learns_and_decodes_in_mixed_precision(task: str, world: Path) -> None:
    plugin, examples = examples_of(task, world, "train")
    chosen = examples[:EXAMPLES]
    vocabularies = build_vocabularies(plugin, chosen)
    injection = build_injection("input")
    head = build_head(plugin, vocabularies, injection, "input")
    assert head is not None
    batch, module = build_batch(plugin, chosen, vocabularies), as_module(head)
    if head.fitting == "one_pass":
        with mixed(True), torch.no_grad():
            head.observe(injection(batch.streams), batch)  # type: ignore[attr-defined]
            head.finish()  # type: ignore[attr-defined]
    else:
        compare_steps(head, injection, batch)
        optimiser = torch.optim.Adam(module.parameters(), lr=0.01)
        losses = []
        for _ in range(STEPS):
            optimiser.zero_grad()
            with mixed(True):
                loss = head(injection(batch.streams), batch).loss
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < 0.9 * losses[0]
    module.eval()
    with mixed(True), torch.inference_mode():
        assert len(head.decode(head(injection(batch.streams), batch), batch)) == len(chosen)


def compare_steps(head: Any, injection: Any, batch: Any) -> None:
    """Loss and gradients of the first step in both precisions, with the same dropout."""
    losses, gradients = [], []
    for is_on in (False, True):
        torch.manual_seed(3)
        head.zero_grad()
        with mixed(is_on):
            loss = head(injection(batch.streams), batch).loss
        loss.backward()
        losses.append(float(loss.detach()))
        known = [weight.grad for weight in head.parameters() if weight.grad is not None]
        gradients.append(torch.cat([gradient.flatten() for gradient in known]))
    assert losses[1] == pytest.approx(losses[0], rel=NEAR)
    assert float(torch.cosine_similarity(*gradients, dim=0)) > ALIKE
