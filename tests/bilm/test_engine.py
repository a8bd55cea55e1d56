"""The fast engine against the plain model, whatever stands beside a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from elmo_bench.bilm.engine import embedder as engine_module
from elmo_bench.bilm.engine.embedder import Embedder, fingerprint_model, load_embedder
from elmo_bench.bilm.engine.sentence_layout import Side, plan_chunks
from elmo_bench.bilm.engine.stateful import StatefulEmbedder
from elmo_bench.bilm.files import load_bilm, save_bilm
from elmo_bench.bilm.layout import find_model
from elmo_bench.bilm.model import BiLM, batch_characters
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.data.lines import read_lines
from elmo_bench.nn import products
from elmo_bench.types import UsageError, Words

Floats = NDArray[np.float32]

PLAIN = BilmOptions(
    character_dim=4, filters=((1, 8), (2, 8), (5, 16)), highways=2, layers=2, cell_dim=48, projection_dim=16
)
VARIANTS = {
    "plain": PLAIN,
    "no token projection": BilmOptions(
        character_dim=4, filters=((1, 8), (2, 8)), highways=1, layers=2, cell_dim=48, projection_dim=16
    ),
    "no state projection": BilmOptions(
        character_dim=4, filters=((1, 8), (3, 10)), highways=1, layers=2, cell_dim=16, projection_dim=16
    ),
    "no clips, no skips": BilmOptions(
        character_dim=4,
        filters=((1, 8), (3, 10)),
        highways=0,
        layers=2,
        cell_dim=48,
        projection_dim=16,
        maximum_characters=50,
        cell_clip=None,
        projection_clip=None,
        use_skip_connections=False,
    ),
    "three layers": BilmOptions(
        character_dim=4, filters=((1, 8), (3, 10)), highways=1, layers=3, cell_dim=48, projection_dim=16
    ),
    "one layer, tight clips": BilmOptions(
        character_dim=4,
        filters=((1, 8),),
        highways=1,
        layers=1,
        cell_dim=48,
        projection_dim=16,
        maximum_characters=20,
        cell_clip=0.1,
        projection_clip=0.05,
        use_skip_connections=True,
    ),
}


def _model(options: BilmOptions, seed: int = 0) -> BiLM:
    """Weights strong enough that clips are reached and states matter."""
    generator = torch.Generator().manual_seed(seed)
    model = BiLM(options, generator).eval()
    for name, parameter in model.named_parameters():
        if "stack" in name or "projection" in name:
            parameter.data.normal_(0.0, 0.3, generator=generator)
    return model


@torch.no_grad()
def _alone(model: BiLM, words: Words) -> Floats:
    """One sentence through the plain model, marks cut off."""
    layers, _ = model(*batch_characters([words], model.options.maximum_characters))
    return layers[0, :, 1:-1].numpy()


def _sentences(lengths: Sequence[int]) -> list[Words]:
    """Different words throughout, of one to sixty bytes."""
    return [
        tuple(f"w{'x' * ((7 * place + 11 * row) % 59)}{row % 3}" for place in range(length))
        for row, length in enumerate(lengths)
    ]


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
def test_engine_equals_the_plain_model(options: BilmOptions) -> None:
    model = _model(options)
    sentences = _sentences([5, 1, 0, 12, 3, 3, 30, 2, 9])
    encoder = Embedder(model)
    for words, layers in zip(sentences, encoder.layers(sentences), strict=True):
        assert layers.shape == (encoder.layer_count, len(words), encoder.dim)
        assert layers.dtype == np.float32
        if words:
            assert np.abs(layers - _alone(model, words)).max() <= 1e-5


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
def test_engine_without_packed_operators_equals_the_plain_model(
    options: BilmOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "is_packing_possible", lambda dtype: False)
    model = _model(options)
    sentences = _sentences([4, 7, 1])
    for words, layers in zip(sentences, Embedder(model).layers(sentences), strict=True):
        assert np.abs(layers - _alone(model, words)).max() <= 1e-5


def test_packing_is_refused_where_the_operators_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "_packed_product", lambda *_: torch.ops.mkldnn.no_such_operator)
    assert not products.is_packing_possible.__wrapped__(torch.float32)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    company=st.lists(st.integers(0, 40), max_size=30),
    place=st.integers(0, 30),
    lanes=st.sampled_from([2, 3, 16, 128]),
    tokens=st.sampled_from([20, 100, 10_000]),
    threads=st.sampled_from([1, 2]),
)
def test_vectors_do_not_depend_on_the_batch(
    company: list[int],
    place: int,
    lanes: int,
    tokens: int,
    threads: int,
    shared_encoder: Embedder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ("The", "cat", "sat", "on", "Zürich", "'s", "mat", ".")
    before = torch.get_num_threads()
    expected = shared_encoder.layers([words])[0]
    sentences = _sentences(company)
    sentences.insert(min(place, len(sentences)), words)
    monkeypatch.setattr(engine_module, "MOST_LANES", lanes)
    monkeypatch.setattr(shared_encoder, "_most_tokens", tokens)
    torch.set_num_threads(threads)
    try:
        found = shared_encoder.layers(sentences)[sentences.index(words)]
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert np.abs(found - expected).max() <= 1e-5


@pytest.fixture(scope="module")
def shared_encoder() -> Embedder:
    return Embedder(_model(PLAIN))


def test_answers_do_not_depend_on_earlier_calls_by_a_bit() -> None:
    sentences = _sentences([3, 8, 5])
    fresh, used = Embedder(_model(PLAIN)), Embedder(_model(PLAIN))
    used.layers(_sentences([40, 2, 17, 23]))
    used.layers(_sentences([5])[:1])
    for first, second in zip(fresh.layers(sentences), used.layers(sentences), strict=True):
        assert np.array_equal(first, second)


def test_a_full_word_table_starts_afresh() -> None:
    encoder = Embedder(_model(PLAIN))
    expected = encoder.layers(_sentences([6, 30]))
    encoder._words._most_words = 45  # as if memory were nearly used up
    for _ in range(3):
        encoder.layers([("other",) * 3, tuple(f"n{number}" for number in range(20))])
        found = encoder.layers(_sentences([6, 30]))
        assert all(np.abs(a - b).max() <= 1e-5 for a, b in zip(found, expected, strict=True))
    assert len(encoder._words._rows) <= 45


def test_no_sentences_and_empty_sentences() -> None:
    encoder = Embedder(_model(PLAIN))
    assert encoder.layers([]) == []
    assert [layers.shape for layers in encoder.layers([(), ()])] == [(3, 0, 32)] * 2


def test_half_precision_stays_close() -> None:
    model = _model(PLAIN)
    sentences = _sentences([20, 10, 5])
    exact, rough = Embedder(model), Embedder(model, "bfloat16")
    for one, other in zip(exact.layers(sentences), rough.layers(sentences), strict=True):
        cosine = (one * other).sum(-1) / np.linalg.norm(one, axis=-1) / np.linalg.norm(other, axis=-1)
        assert cosine.min() > 0.99
        assert np.abs(one - other).max() > 1e-4  # it is another precision, not the same path
    assert exact.fingerprint != rough.fingerprint


@pytest.mark.parametrize("lengths", [[1], [3, 3, 3], [5, 0, 9, 1, 1, 1, 2], [40, *[1] * 60], list(range(30))])
@pytest.mark.parametrize("most_tokens", [10, 64, 1000])
@pytest.mark.parametrize("most_lanes", [2, 16])
def test_every_word_stands_once_and_sentences_do_not_overlap(
    lengths: list[int], most_tokens: int, most_lanes: int
) -> None:
    placed = []
    for chunk in plan_chunks(lengths, most_lanes, most_tokens):
        assert chunk.lanes <= most_lanes
        sides = [Side(chunk, is_backward) for is_backward in (False, True)]
        rows = [[10 + slot.sentence] * slot.length for slot in chunk.slots]
        for side, mark in zip(sides, (1, 2), strict=True):
            places = side.lay_out(rows, mark)
            assert (places == mark).sum() == len(chunk.slots)
            for slot in chunk.slots:
                first = side.first_word(slot)
                assert (places[first : first + slot.length, slot.lane] == 10 + slot.sentence).all()
            assert (places > 2).sum() == sum(slot.length for slot in chunk.slots)
            for step, lanes in side.beginnings().items():
                assert (places[step, lanes] == mark).all()
        placed += [slot.sentence for slot in chunk.slots]
    assert sorted(placed) == [index for index, length in enumerate(lengths) if length]


def test_fingerprint_follows_what_decides_a_vector(tmp_path: Path) -> None:
    model = _model(PLAIN)
    save_bilm(model, tmp_path)
    same = load_embedder(tmp_path).fingerprint
    others = {
        fingerprint_model(_model(PLAIN, seed=1), "reset", "float32"),
        fingerprint_model(model, "carry", "float32"),
        fingerprint_model(model, "reset", "bfloat16"),
        fingerprint_model(_model(VARIANTS["three layers"]), "reset", "float32"),
    }
    assert same == Embedder(model).fingerprint
    assert same not in others
    assert len(others) == 4


def test_carried_state_changes_what_follows_and_keeps_idle_rows(tmp_path: Path) -> None:
    model = _model(PLAIN)
    save_bilm(model, tmp_path)
    carrying = load_embedder(tmp_path, state="carry")
    assert isinstance(carrying, StatefulEmbedder)
    one, two = _sentences([4, 6])
    first = carrying.layers([one, two])
    assert np.abs(first[1] - _alone(model, two)).max() <= 1e-5
    assert np.abs(carrying.layers([one])[0] - first[0]).max() > 1e-3
    again = load_embedder(tmp_path, state="carry")
    again.layers([one, two])
    again.layers([one])
    straight = load_embedder(tmp_path, state="carry")
    straight.layers([two])
    assert np.abs(again.layers([one, two])[1] - straight.layers([two])[0]).max() <= 1e-5
    assert carrying.layers([]) == []


def test_carried_state_is_offered_in_single_precision_only(tmp_path: Path) -> None:
    save_bilm(_model(PLAIN), tmp_path)
    with pytest.raises(UsageError, match="carried state needs float32"):
        load_embedder(tmp_path, state="carry", precision="bfloat16")


@pytest.mark.slow
def test_a_trained_model_keeps_its_vectors_in_every_company(shared: Path) -> None:
    folder = shared / "models" / "small_open"
    model = load_bilm(*find_model(folder))
    text = read_lines(shared / "lm_text" / "heldout.txt.gz")
    sentences = [tuple(line.split()) for _, line in islice(text, 300)]
    for words, layers in zip(sentences, load_embedder(folder).layers(sentences), strict=True):
        assert np.abs(layers - _alone(model, words)).max() <= 1e-5
