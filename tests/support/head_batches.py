"""Batches for head tests: given mixed tokens, as a store and an injection would hand them over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from elmo_bench.data.word_table import WordTable
from elmo_bench.tensors import Batch, Head, Injected, Stream, Widths
from elmo_bench.types import Prediction

ABSENT = Widths(0, 0)
PLACES = [ABSENT, Widths(6, 0), Widths(0, 6), Widths(6, 6)]


@dataclass(frozen=True)
class Row:
    """One example: its fields, and its tokens' features at the input and at the output."""

    id: str
    fields: Mapping[str, Tensor]
    at_input: Tensor  # (time, features)
    at_output: Tensor  # (time, features)


def words(dim: int = 4, trainable: bool = True) -> WordTable:
    """Eight words with random vectors, or without any."""
    matrix = torch.randn(10, dim, generator=torch.Generator().manual_seed(0))
    matrix[:2] = 0
    return WordTable(tuple("abcdefgh"), matrix, trainable)


def make_rows(examples: Iterable[tuple[str, Mapping[str, Tensor]]], widths: Widths) -> list[Row]:
    """Examples with random features, as many as their `words`."""
    generator = torch.Generator().manual_seed(2)

    def features(length: int) -> list[Tensor]:
        return [torch.randn(length, width, generator=generator) for width in vars(widths).values()]

    return [Row(name, fields, *features(len(fields["words"]))) for name, fields in examples]


def padded(tensors: Sequence[Tensor], extra: int) -> Tensor:
    """Stacked with zeros at the end of every dimension, and that many more where sizes differ."""
    sizes = [set(sizes) for sizes in zip(*(tensor.shape for tensor in tensors), strict=True)]
    shape = [max(size) + (extra if len(size) > 1 or place == 0 else 0) for place, size in enumerate(sizes)]
    whole = tensors[0].new_zeros(len(tensors), *shape)
    for row, tensor in enumerate(tensors):
        whole[(row, *(slice(size) for size in tensor.shape))] = tensor
    return whole


def collate(rows: Sequence[Row], extra: int = 0, junk: float = 0.0) -> tuple[dict[str, Injected], Batch]:
    """A batch padded by `extra` more than needed, with `junk` as the features of padding."""
    lengths = torch.tensor([len(row.at_input) for row in rows])
    time = int(lengths.max()) + extra
    mask = torch.arange(time) < lengths.unsqueeze(1)

    def features(tensors: Sequence[Tensor]) -> Tensor:
        whole = pad_sequence(list(tensors), batch_first=True, padding_value=junk)
        return nn.functional.pad(whole, (0, 0, 0, extra), value=junk)

    text = Injected(features([row.at_input for row in rows]), features([row.at_output for row in rows]), mask)
    stream = Stream(torch.zeros(len(rows), 0, time, 0), mask, (1,) * len(rows))
    fields = {name: padded([row.fields[name] for row in rows], extra) for name in rows[0].fields}
    return {"text": text}, Batch(tuple(row.id for row in rows), {"text": stream}, fields)


def predictions(head: Head, rows: Sequence[Row], extra: int = 0, junk: float = 0.0) -> list[Prediction]:
    """What the head decodes for some rows in one batch."""
    injected, batch = collate(rows, extra, junk)
    return head.decode(head(injected, batch), batch)


def fit(head: Head, rows: Sequence[Row], steps: int = 60, rate: float = 0.02) -> None:
    """Train on the same batch over and over."""
    assert isinstance(head, nn.Module)
    head.train()
    optimiser = torch.optim.Adam(head.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        head(*collate(rows)).loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    head.eval()


def assert_gradients_everywhere(head: Head, rows: Sequence[Row]) -> None:
    """Every trainable parameter, and every feature of every real token, influences the loss."""
    assert isinstance(head, nn.Module)
    injected, batch = collate(rows, extra=1)
    text = injected["text"]
    text.at_input.requires_grad_(True)
    text.at_output.requires_grad_(True)
    head(injected, batch).loss.backward()  # type: ignore[no-untyped-call]
    for name, parameter in head.named_parameters():
        if parameter.requires_grad and parameter.numel():
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    for features in (text.at_input, text.at_output):
        if features.numel():
            assert features.grad is not None
            assert (features.grad.abs().sum(2) > 0).equal(text.mask)


def assert_padding_and_order_change_nothing(head: Head, rows: Sequence[Row]) -> None:
    """Scores stay the same when the batch is padded further with junk, or comes in another order."""
    assert isinstance(head, nn.Module)
    head.eval()
    injected, batch = collate(rows)
    plain = head(injected, batch)
    wider = head(*collate(rows, extra=3, junk=1e3))
    torch.testing.assert_close(wider.loss, plain.loss, rtol=1e-6, atol=1e-6)
    assert predictions(head, rows, extra=3, junk=1e3) == head.decode(plain, batch)
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(1)).tolist()
    shuffled = predictions(head, [rows[place] for place in order])
    assert shuffled == [head.decode(plain, batch)[place] for place in order]
    alone = [predictions(head, [row])[0] for row in rows]
    assert alone == head.decode(plain, batch)


def assert_sound(head: Head, rows: Sequence[Row]) -> None:
    """Both of the above."""
    assert_gradients_everywhere(head, rows)
    assert_padding_and_order_change_nothing(head, rows)
