"""The store: equal bits from every mode, a plan that depends on the set alone, and what a person is told."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmo_bench.cli import store as command
from elmo_bench.cli.main import main
from elmo_bench.data.word_table import WordTable
from elmo_bench.encoders import store as store_module
from elmo_bench.encoders.plan import Plan
from elmo_bench.encoders.protocol import EncoderCard
from elmo_bench.encoders.shards import in_units
from elmo_bench.encoders.store import Store, Unit
from elmo_bench.encoders.words import WordEncoder
from elmo_bench.types import BenchError, Excerpt, UsageError, Words
from tests.support.company_encoder import CARD, CompanyEncoder, sentences

TEXT = sentences()


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some ten shards from three hundred sentences."""
    monkeypatch.setattr(store_module, "SHARD_BYTES", 8_000)
    monkeypatch.setattr("elmo_bench.encoders.plan.BATCH_TOKENS", 64)


def make_store(root: Path, encoder: CompanyEncoder | None = None, **options: Any) -> Store:
    return Store(root, CARD, lambda: encoder or CompanyEncoder(), **{"progress": False, **options})


def no_encoder() -> CompanyEncoder:
    raise AssertionError("nothing should have to be computed")


def expected(words: Words, dtype: Any) -> torch.Tensor:
    """The plan's batch of one sentence, encoded independently of the store."""
    plan = Plan.make(TEXT, 1)
    batch = plan.batch_of(plan.sequences.index(words))
    company = plan.sequences[batch.start : batch.stop]
    return torch.from_numpy(CompanyEncoder().layers(company)[company.index(words)].astype(dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("mode", ["disk", "ram", "off"])
def test_every_mode_gives_the_same_bits(tmp_path: Path, mode: Any, dtype: Any) -> None:
    unit = make_store(tmp_path, mode=mode, dtype=dtype).open("data", TEXT)
    for words in TEXT:
        assert torch.equal(unit.layers(words), expected(words, dtype))
        assert unit.layers(words).dtype == getattr(torch, dtype)
    assert any(tmp_path.iterdir()) == (mode == "disk")


def test_off_stays_exact_when_memory_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "FRESH_BYTES", 3_000)
    encoder = CompanyEncoder()
    unit = make_store(tmp_path, encoder, mode="off").open("data", TEXT)
    for words in TEXT:
        assert torch.equal(unit.layers(words), expected(words, "float16"))
    assert len(encoder.batches) > len(set(encoder.batches))  # some had to be computed again
    again = len(encoder.batches)
    unit.layers(TEXT[-1])
    assert len(encoder.batches) == again  # the last one is still there


def test_off_computes_each_batch_once_while_memory_lasts(tmp_path: Path) -> None:
    encoder = CompanyEncoder()
    unit = make_store(tmp_path, encoder, mode="off").open("data", TEXT)
    assert encoder.batches == []
    for words in [*TEXT, *TEXT]:
        unit.layers(words)
    assert len(encoder.batches) == len(set(encoder.batches)) > 10


def test_a_batch_is_its_sentences_with_zeros_behind(tmp_path: Path) -> None:
    unit = make_store(tmp_path).open("data", TEXT)
    chosen = [TEXT[5], (), TEXT[0], TEXT[5], TEXT[77]]
    layers, mask = unit.batch(list(map(Excerpt.whole, chosen)))
    time = max(map(len, chosen))
    assert layers.shape == (5, CARD.layer_count, time, CARD.dim)
    assert mask.sum(dim=1).tolist() == [len(words) for words in chosen]
    for row, words in enumerate(chosen):
        assert torch.equal(layers[row, :, : len(words)], unit.layers(words))
        assert layers[row, :, len(words) :].count_nonzero() == 0
        assert mask[row, : len(words)].all()
    layers, mask = unit.batch([])
    assert layers.shape == (0, 3, 0, 8) and mask.shape == (0, 0)
    assert unit.layers(()).shape == (3, 0, 8)


def test_writing_into_a_batch_does_not_reach_the_store(tmp_path: Path) -> None:
    unit = make_store(tmp_path).open("data", TEXT)
    unit.layers(TEXT[0]).fill_(7)
    unit.batch([Excerpt.whole(TEXT[0])])[0].fill_(7)
    assert torch.equal(unit.layers(TEXT[0]), expected(TEXT[0], "float16"))


def test_a_full_store_is_read_without_its_encoder(tmp_path: Path) -> None:
    make_store(tmp_path).open("data", TEXT)
    reader = Store(tmp_path, CARD, no_encoder, progress=False)
    shuffled = random.Random(3).sample(TEXT, len(TEXT))
    unit = reader.open("data", shuffled)
    assert torch.equal(unit.layers(TEXT[0]), expected(TEXT[0], "float16"))


def test_layer_zero_is_kept_once(tmp_path: Path) -> None:
    make_store(tmp_path).open("data", TEXT)
    tokens = sum(map(len, set(TEXT)))
    written = sum(np.load(path).nbytes for path in tmp_path.rglob("*.npy"))
    assert written == tokens * (3 * 8 - 4) * 2


@pytest.mark.parametrize(
    ("encoder", "data", "dtype", "text"),
    [
        ("other", "data", "float16", TEXT),
        (CARD.fingerprint, "other", "float16", TEXT),
        (CARD.fingerprint, "data", "float32", TEXT),
        (CARD.fingerprint, "data", "float16", [*TEXT[:-1], ("one", "more")]),
    ],
)
def test_whatever_decides_the_bits_has_its_own_unit(
    tmp_path: Path, encoder: str, data: str, dtype: Any, text: list[Words]
) -> None:
    make_store(tmp_path).open("data", TEXT)
    card = EncoderCard(CARD.name, encoder, CARD.layer_count, CARD.dim, CARD.repeats_halves)
    Store(tmp_path, card, lambda: CompanyEncoder(encoder), dtype, progress=False).open(data, text)
    assert len(list(tmp_path.glob("*/unit.json"))) == 2


def test_the_plan_depends_on_the_set_alone() -> None:
    plan = Plan.make(TEXT, 50)
    for seed in range(5):
        order = random.Random(seed).sample([*TEXT, (), *TEXT], 2 * len(TEXT) + 1)
        assert Plan.make(order, 50) == plan
    assert plan.sequences == tuple(sorted(set(TEXT), key=lambda words: (len(words), words)))
    positions = [n for shard in plan.shards for batch in shard.batches for n in batch]
    assert positions == list(range(len(plan.sequences)))
    for shard in plan.shards:
        assert shard.tokens == sum(len(plan.sequences[n]) for batch in shard.batches for n in batch)
        for batch in shard.batches:
            assert all(plan.batch_of(n) == batch for n in batch)
    assert all(shard.tokens >= 50 for shard in plan.shards[:-1])


def test_batches_are_as_large_as_their_bound_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elmo_bench.encoders.plan.BATCH_TOKENS", 10)
    text = [(str(n),) * length for length in (1, 3, 4, 5, 11) for n in range(4)]
    plan = Plan.make(text, 10**9)
    assert len(plan.shards) == 1
    lengths = [[len(plan.sequences[n]) for n in batch] for batch in plan.shards[0].batches]
    assert lengths == [[1, 1, 1, 1, 3, 3], [3, 3, 4], [4, 4], [4, 5], [5, 5], [5], [11], [11], [11], [11]]


def test_word_boundaries_are_part_of_a_plan() -> None:
    texts = [[("a", "b")], [("a b",)], [("a",), ("b",)], [('a", "b',)], []]
    assert len({Plan.make(text, 50).digest for text in texts}) == len(texts)


@pytest.mark.parametrize("mode", ["disk", "ram", "off"])
def test_a_file_without_sentences_is_fine(tmp_path: Path, mode: Any) -> None:
    unit = Store(tmp_path, CARD, no_encoder, mode=mode, progress=False).open("data", [(), ()])
    assert unit.batch([Excerpt.whole(())])[0].shape == (1, 3, 0, 8)


def test_a_sentence_of_another_file_is_named(tmp_path: Path) -> None:
    unit = make_store(tmp_path, mode="off").open("data", TEXT)
    with pytest.raises(BenchError, match="not opened for the text 'Who is this'"):
        unit.layers(("Who", "is", "this"))


def test_the_size_is_told_before_filling_and_never_again(tmp_path: Path) -> None:
    said: list[str] = []
    make_store(tmp_path, log=said.append).open("data", TEXT)
    tokens = sum(map(len, set(TEXT)))
    assert len(said) == 1
    assert f"{tokens:,} tokens x 40 bytes = {in_units(tokens * 40)} from encoder company" in said[0]
    assert f"free in {tmp_path}" in said[0]
    make_store(tmp_path, log=said.append).open("data", TEXT)
    assert len(said) == 1


def test_a_fill_that_does_not_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**6, 10**6 - 999, 999))
    with pytest.raises(UsageError, match=r"999 bytes free in .*store\.mode=off") as refusal:
        Store(tmp_path, CARD, no_encoder, progress=False).open("data", TEXT)
    assert refusal.value.exit_code == 2
    assert list(tmp_path.rglob("unit.json")) == []
    assert make_store(tmp_path, mode="off").open("data", TEXT).layers(TEXT[0]).shape[0] == 3
    tokens = sum(map(len, set(TEXT)))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**6, 0, tokens * 40))
    make_store(tmp_path).open("data", TEXT)  # just enough


class Wrong(CompanyEncoder):
    """An encoder that breaks one promise."""

    def __init__(self, fault: str) -> None:
        super().__init__(fingerprint="other" if fault == "fingerprint" else CARD.fingerprint)
        self.fault = fault

    def layers(self, sentences: Any) -> Any:
        answers = super().layers(sentences)
        if self.fault == "halves":
            answers[0][0, 0, 0] += 1
        if self.fault == "shape":
            answers[0] = answers[0][:2]
        if self.fault == "range":
            answers[0][1, 0, 0] = 7e4
        if self.fault == "nan":
            answers[0][2, 0, 0] = np.nan
        return answers[1:] if self.fault == "count" else answers


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("fingerprint", "company should have fingerprint"),
        ("halves", "does not repeat"),
        ("shape", r"shape \(2, 1, 8\), expected \(3, 1, 8\)"),
        ("range", r"float16 cannot hold .* store\.dtype=float32"),
        ("nan", "gives NaN or infinity"),
        ("count", "arrays for"),
    ],
)
def test_a_wrong_encoder_is_not_stored(tmp_path: Path, fault: str, message: str) -> None:
    with pytest.raises(BenchError, match=message):
        make_store(tmp_path, Wrong(fault)).open("data", TEXT)
    assert list(tmp_path.rglob("*.npy")) == []


def test_static_words_are_an_encoder_of_one_layer(tmp_path: Path) -> None:
    matrix = torch.tensor([[0.0, 0, 0], [0, 0, 0], [1, 2, 3], [4, 5, 6]])
    encoder = WordEncoder(WordTable(("new", "York"), matrix, trainable=False))
    unit: Unit = Store(tmp_path, encoder.card(), lambda: encoder, progress=False).open(
        "data", [("New", "York", "?"), ("York",)]
    )
    layers, _ = unit.batch([Excerpt.whole(("York",)), Excerpt.whole(("New", "York", "?"))])
    assert layers.float().tolist() == [
        [[[4, 5, 6], [0, 0, 0], [0, 0, 0]]],
        [[[1, 2, 3], [4, 5, 6], [0, 0, 0]]],
    ]
    changed = WordEncoder(WordTable(("new", "York"), matrix + 1, trainable=False))
    renamed = WordEncoder(WordTable(("old", "York"), matrix, trainable=False))
    assert len({encoder.fingerprint, changed.fingerprint, renamed.fingerprint}) == 3


def run_command(*arguments: str) -> None:
    assert main(["store", *arguments]) == 0


def test_list_and_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = f"paths.cache={tmp_path}"
    run_command("list", f"{cache}/none")
    assert "nothing is stored" in capsys.readouterr().out
    tmp_path = tmp_path / "store"
    make_store(tmp_path).open("data", TEXT, label="wikigold train")
    other = EncoderCard("second", "beef" * 8, 3, 8, True)
    Store(tmp_path, other, lambda: CompanyEncoder("beef" * 8), progress=False).open("data", TEXT)
    next(tmp_path.rglob("00003-layer1.sha256")).unlink()
    capsys.readouterr()

    run_command("list", cache)
    table = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in table}
    assert "c0ffeec0ffee" in rows["company"] and "wikigold train" in rows["company"]
    assert (
        "beefbeefbeef" in rows["second"]
        and "float16" in rows["second"]
        and re.search(r" \d+ s", rows["second"])
    )
    assert sum("incomplete" in line for line in table) == 1
    assert table[-1].startswith("2 in ")

    assert main(["store", "clean", "--encoder", "third", cache]) == 2
    assert re.search(r"--encoder third: .* company \(c0ffeec0ffee\), second", capsys.readouterr().err)
    assert main(["store", "clean", "--encoder", "", cache]) == 2  # such as "$NAME" that is not set
    assert len(list(tmp_path.glob("*/unit.json"))) == 2
    size = sum(path.stat().st_size for path in tmp_path.rglob("*.*") if path.suffix != ".lock")
    run_command("clean", "--encoder", "beef", cache)
    assert "freed" in capsys.readouterr().out
    assert len(list(tmp_path.glob("*/unit.json"))) == 1
    left = sum(path.stat().st_size for path in tmp_path.rglob("*.*") if path.suffix != ".lock")
    run_command("clean", "--all", cache)
    assert f"{in_units(left)} freed" in capsys.readouterr().out
    assert 0 < left < size
    assert [path for path in tmp_path.rglob("*") if path.suffix != ".lock"] == []


def test_a_full_disk_is_answered_with_a_command_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(tmp_path)._replace(free=0)
    root = tmp_path / "store"
    root.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("elmo_bench.encoders.store.shutil.disk_usage", lambda _: full)
        with pytest.raises(UsageError, match="not enough space") as caught:
            make_store(root).open("data", TEXT)
    found = re.search(r"python -m elmo_bench (store list \S+) shows", str(caught.value))
    assert found and main(found[1].split()) == 0
    assert f"nothing is stored in {root}" in capsys.readouterr().out


def test_sizes_and_ages_are_readable() -> None:
    assert [in_units(n) for n in (0, 999, 1000, 2_500_000, 7 * 10**9, 10**12)] == [
        "0 bytes", "999 bytes", "1.0 kB", "2.5 MB", "7.0 GB", "1.0 TB",
    ]  # fmt: skip
    assert [command.age(s) for s in (-1, 59, 60, 3600, 86400 * 3)] == ["0 s", "59 s", "1 min", "1 h", "3 d"]


def open_layers(root: Path, encoder: CompanyEncoder, *layers: int, **options: Any) -> Unit:
    return make_store(root, encoder, layers=layers, **options).open("data", TEXT)


@pytest.mark.parametrize("mode", ["disk", "ram", "off"])
@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_some_layers_are_those_of_all(tmp_path: Path, mode: Any, dtype: Any) -> None:
    every = make_store(tmp_path / "all", dtype=dtype).open("data", TEXT)
    chosen = list(map(Excerpt.whole, TEXT[:20]))
    for layers in ((0,), (2,), (0, 2)):
        some = open_layers(tmp_path / mode, CompanyEncoder(), *layers, mode=mode, dtype=dtype)
        batch, _ = some.batch(chosen)
        assert torch.equal(batch, every.batch(chosen)[0][:, list(layers)])


def test_a_layer_that_nobody_reads_is_not_stored(tmp_path: Path) -> None:
    said: list[str] = []
    open_layers(tmp_path, CompanyEncoder(), 2, log=said.append)
    tokens = sum(map(len, set(TEXT)))
    assert sum(np.load(path).nbytes for path in tmp_path.rglob("*.npy")) == tokens * 8 * 2
    assert (
        f"{tokens:,} tokens x 16 bytes = {in_units(tokens * 16)} from encoder company, layer 2 of 3"
        in said[0]
    )


def test_layers_are_added_to_a_unit_and_read_by_all(tmp_path: Path) -> None:
    encoder = CompanyEncoder()
    open_layers(tmp_path, encoder, 2)
    inodes = {path: path.stat().st_ino for path in tmp_path.rglob("*.npy")}
    once = len(encoder.batches)
    open_layers(tmp_path, encoder, 0, 2)
    assert len(encoder.batches) == 2 * once
    assert all(path.stat().st_ino == inode for path, inode in inodes.items())
    unit = open_layers(tmp_path, encoder, 0)
    open_layers(tmp_path, encoder, 2)
    assert len(encoder.batches) == 2 * once
    assert torch.equal(unit.layers(TEXT[7]), expected(TEXT[7], "float16")[:1])


def test_layers_for_other_runs_are_stored_when_something_is_encoded_anyway(tmp_path: Path) -> None:
    encoder = CompanyEncoder()
    open_layers(tmp_path, encoder, 1, stored=(0, 1, 2))
    once = len(encoder.batches)
    for layers in ((0,), (2,), (0, 1, 2)):
        open_layers(tmp_path, encoder, *layers)
    assert len(encoder.batches) == once
    open_layers(tmp_path / "other", encoder, 1)
    open_layers(tmp_path / "other", encoder, 1, stored=(0, 1, 2))  # nothing is encoded, so nothing is stored
    assert len(encoder.batches) == 2 * once
    assert {path.stem.split("-")[1] for path in (tmp_path / "other").rglob("*.npy")} == {"layer1"}


def test_eight_bits_take_half_of_sixteen_and_give_nearly_the_same(tmp_path: Path) -> None:
    matrix = torch.randn(5, 200, generator=torch.Generator().manual_seed(1))
    matrix[3] = 0
    matrix[4, 7] = 500.0  # costs precision in its own group of 64 only
    encoder = WordEncoder(WordTable(("New", "York", "zero"), matrix, trainable=False))
    store = Store(tmp_path, encoder.card(), lambda: encoder, "int8", progress=False)
    layers = store.open("data", [("york", "new", "zero")]).layers(("york", "new", "zero"))[0]
    assert layers.dtype == torch.float16
    exact = torch.from_numpy(encoder.layers([("york", "new", "zero")])[0][0])
    scales = exact.new_tensor([127.0])
    for token in range(3):
        for group in range(0, 200, 64):
            values = exact[token, group : group + 64]
            step = values.abs().max() / scales
            difference = (layers[token, group : group + 64].float() - values).abs().max()
            assert difference <= 0.5 * step + 1e-3 * values.abs().max()
    assert store.token_bytes((0,)) == 4 * (64 + 4)


def test_eight_bits_are_refused_where_sixteen_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"int8 cannot hold .* store\.dtype=float32"):
        make_store(tmp_path, Wrong("range"), dtype="int8").open("data", TEXT)
    with pytest.raises(BenchError, match="gives NaN or infinity"):
        make_store(tmp_path, Wrong("nan"), dtype="int8").open("data", TEXT)


def test_reading_keeps_no_file_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    unit = make_store(tmp_path).open("data", TEXT)
    assert len(list(tmp_path.rglob("*.npy"))) > 20
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
    assert torch.equal(unit.layers(TEXT[0]), expected(TEXT[0], "float16"))


def test_units_of_another_version_are_named_and_cleaned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, cache = tmp_path / "store", f"paths.cache={tmp_path}"
    make_store(root).open("data", TEXT)
    description = next(root.glob("*/unit.json"))
    old = root / "0123456789abcdef01234567"
    shutil.copytree(description.parent, old)
    content = json.loads(description.read_text())
    (old / "unit.json").write_text(json.dumps({**content, "format": content["format"] - 1}))
    run_command("list", cache)
    assert capsys.readouterr().out.count("outdated") == 1
    run_command("clean", "--outdated", cache)
    assert [path.parent for path in root.glob("*/unit.json")] == [description.parent]
    assert " freed in " in capsys.readouterr().out
