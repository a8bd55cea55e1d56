"""A wrong or hostile directory gets an error that names what is wrong; nothing in it is executed."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from elmo_bench.types import BenchError, DataError, DataMissingError, UsageError
from tests.support.tiny_transformers import card_of, load_tiny, save_tiny, settings_of

BOMB = "bomb"


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.path,)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("bert"), "bert")


@pytest.fixture
def model(bert: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return shutil.copytree(bert, tmp_path / "model")


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(name: str, model: Path) -> None:
    (model / name).unlink()
    with pytest.raises(DataMissingError, match=rf"{name}: no such file \(encoder\.model={model}\)"):
        card_of(settings_of(model))


def test_without_a_fast_tokeniser_it_says_how_to_make_one(model: Path) -> None:
    (model / "tokenizer.json").unlink()
    (model / "vocab.txt").write_text("[UNK]\n")
    with pytest.raises(DataMissingError, match=r"fast tokeniser .*AutoTokenizer .*save_pretrained\('DIR'\)"):
        card_of(settings_of(model))


def test_a_pickle_is_never_opened(model: Path) -> None:
    (model / "model.safetensors").unlink()
    (model / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(model / BOMB)))
    with pytest.raises(DataMissingError, match=r"pytorch_model\.bin is never read: .* AutoModel "):
        card_of(settings_of(model))
    assert not (model / BOMB).exists()


@pytest.mark.parametrize("shard", ["pytorch_model.bin", "../outside.safetensors", "/etc/x.safetensors", ""])
def test_an_index_cannot_lead_to_a_pickle_or_out_of_the_directory(shard: str, model: Path) -> None:
    shutil.copy(model / "model.safetensors", model.parent / "outside.safetensors")
    (model / "model.safetensors").unlink()
    (model / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(model / BOMB)))
    index = model / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"embeddings.word_embeddings.weight": shard}}))
    with pytest.raises(UsageError, match=r"index\.json: expected \.safetensors files in the same directory"):
        card_of(settings_of(model))
    assert not (model / BOMB).exists()


@pytest.mark.parametrize("content", [b'{"weight_map": []}', b"{}", b"[]", b"\xff", b"[" * 100_000])
def test_a_malformed_index_is_named(content: bytes, model: Path) -> None:
    (model / "model.safetensors").unlink()
    (model / "model.safetensors.index.json").write_bytes(content)
    with pytest.raises(DataError, match=r"model\.safetensors\.index\.json: expected"):
        card_of(settings_of(model))


def test_weights_in_several_files_are_read(model: Path) -> None:
    whole = load_tiny(model)
    weights = load_file(model / "model.safetensors")
    (model / "model.safetensors").unlink()
    names = sorted(weights)
    halves = {"model-1-of-2.safetensors": names[::2], "model-2-of-2.safetensors": names[1::2]}
    for file, half in halves.items():
        save_file({name: weights[name] for name in half}, model / file)
    index = {"weight_map": {name: file for file, half in halves.items() for name in half}}
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    sentence = ("the", "bank")
    assert (load_tiny(model).layers([sentence])[0] == whole.layers([sentence])[0]).all()
    (model / "model-2-of-2.safetensors").unlink()
    with pytest.raises(DataMissingError, match=r"model-2-of-2\.safetensors: no such file, although"):
        card_of(settings_of(model))


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_code_of_its_own_is_refused(file: str, model: Path) -> None:
    change(model / file, auto_map={"AutoModel": "evil.Model", "AutoTokenizer": ["evil.Tokenizer", None]})
    (model / "evil.py").write_text(f"open({str(model / BOMB)!r}, 'w')")
    with pytest.raises(UsageError, match=rf"{file}: auto_map asks for Python code"):
        card_of(settings_of(model))
    assert not (model / BOMB).exists()


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"model_type": "nonsense"}, UsageError, r"has no architecture 'nonsense'"),
        ({"model_type": None}, DataError, r'expected a key "model_type"'),
        ({"is_encoder_decoder": True}, UsageError, r"bert is an encoder with a decoder"),
        ({"quantization_config": {"quant_method": "gptq"}}, UsageError, r"the weights are quantised"),
        ({"hidden_size": "many"}, DataError, r"not a configuration of bert"),
        ({"num_attention_heads": 3}, DataError, r"BertModel cannot be built"),
    ],
)
def test_a_configuration_that_cannot_be_used_says_why(
    values: dict[str, object], error: type[BenchError], message: str, model: Path
) -> None:
    change(model / "config.json", **values)
    with pytest.raises(error, match=rf"config\.json: .*{message}|config\.json: {message}"):
        card_of(settings_of(model))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("t5", "t5 is an encoder with a decoder"),
        ("bart", "bart is an encoder with a decoder"),
        ("vit", "vit is no model that reads one text"),
        ("clip", "clip is no model that reads one text"),
        ("whisper", "whisper is an encoder with a decoder"),
    ],
)
def test_another_kind_of_model_is_refused(kind: str, message: str, model: Path) -> None:
    (model / "config.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(UsageError, match=rf"config\.json: {message}"):
        card_of(settings_of(model))


@pytest.mark.parametrize("content", ["[]", "{", ""])
def test_a_malformed_configuration_is_named(content: str, model: Path) -> None:
    (model / "config.json").write_text(content)
    with pytest.raises(DataError, match=r"config\.json: expected"):
        card_of(settings_of(model))


def test_a_configuration_chooses_no_kernel_and_no_file(model: Path) -> None:
    plain = load_tiny(model).layers([("the", "bank")])[0]
    (model / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(model / BOMB)))
    change(
        model / "config.json",
        attn_implementation="evil/kernel",
        _attn_implementation="evil/kernel",
        transformers_weights="pytorch_model.bin",
    )
    assert (load_tiny(model).layers([("the", "bank")])[0] == plain).all()
    assert not (model / BOMB).exists()


def test_an_adapter_is_refused_because_it_would_be_left_out(model: Path) -> None:
    (model / "adapter_config.json").write_text("{}")
    with pytest.raises(UsageError, match=r"adapter_config\.json: adapters are not applied"):
        card_of(settings_of(model))


def test_weights_that_are_missing_are_not_made_up(model: Path) -> None:
    weights = load_file(model / "model.safetensors")
    lacking = {name: value for name, value in weights.items() if "layer.1.output" not in name}
    save_file(lacking, model / "model.safetensors")
    with pytest.raises(DataError, match=r"model\.safetensors: 4 weights .* are missing: encoder\.layer\.1"):
        load_tiny(model)


def test_weights_of_layers_that_the_configuration_lacks_are_not_dropped(model: Path) -> None:
    weights = load_file(model / "model.safetensors")
    further = {name.replace("layer.0", "layer.7"): value.clone() for name, value in weights.items()}
    save_file(further | weights, model / "model.safetensors")
    with pytest.raises(DataError, match=r"16 weights belong to layers .* not have .*: encoder\.layer\.7"):
        load_tiny(model)


def test_the_pooler_may_be_missing(model: Path) -> None:
    sentence = ("the", "old", "bank")
    whole = load_tiny(model).layers([sentence])[0]
    weights = load_file(model / "model.safetensors")
    kept = {name: value for name, value in weights.items() if "pooler" not in name}
    assert len(kept) < len(weights)
    save_file(kept, model / "model.safetensors")
    assert (load_tiny(model).layers([sentence])[0] == whole).all()


def test_weights_of_another_size_are_named(model: Path) -> None:
    weights = load_file(model / "model.safetensors")
    weights["encoder.layer.0.output.dense.weight"] = torch.zeros(3, 3)
    save_file(weights, model / "model.safetensors")
    with pytest.raises(DataError, match=r"layer\.0\.output\.dense\.weight has \[3, 3\], expected \[16, 24\]"):
        load_tiny(model)


def test_what_is_no_safetensors_file_is_named(model: Path) -> None:
    (model / "model.safetensors").write_bytes(pickle.dumps(Bomb(model / BOMB)))
    with pytest.raises(DataError, match=r"model\.safetensors: not a safetensors file"):
        load_tiny(model)
    assert not (model / BOMB).exists()


def test_what_is_no_tokeniser_is_named(model: Path) -> None:
    (model / "tokenizer.json").write_text('{"model": "nonsense"}')
    with pytest.raises(DataError, match=r"tokenizer\.json: not a tokeniser"):
        load_tiny(model)


def test_a_tokeniser_of_another_model_is_refused(model: Path) -> None:
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.add_tokens(["zzz"])
    tokenizer.save(str(model / "tokenizer.json"))
    encoder = load_tiny(model)
    with pytest.raises(DataError, match=r"tokeniser gives piece \d+, but the model has \d+ pieces"):
        encoder.layers([("the", "zzz")])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (torch.full((16,), torch.nan), r"damaged: encoder\.layer\.0\.output\.LayerNorm\.bias has a value"),
        (torch.zeros(16, dtype=torch.int8), r"expected weights in float32, .*LayerNorm\.bias in int8"),
        (torch.zeros(16).to(torch.float8_e4m3fn), r"LayerNorm\.bias in float8_e4m3fn"),
    ],
)
def test_weights_that_are_no_numbers_are_named(weight: torch.Tensor, message: str, model: Path) -> None:
    weights = load_file(model / "model.safetensors")
    weights["encoder.layer.0.output.LayerNorm.bias"] = weight
    save_file(weights, model / "model.safetensors")
    with pytest.raises(DataError, match=message):
        load_tiny(model)


@pytest.mark.parametrize("values", [{"return_dict": False}, {"chunk_size_feed_forward": 3}])
def test_a_configuration_does_not_choose_how_results_are_handed_over(
    values: dict[str, object], model: Path, bert: Path
) -> None:
    change(model / "config.json", **values)
    sentence = ("the", "bank")
    assert (load_tiny(model).layers([sentence])[0] == load_tiny(bert).layers([sentence])[0]).all()


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ({"b": 0, "c": 1, "d": 2}, "cannot cut 'a' .*UNK"),
        ({"a": 0, "[UNK]": 1}, "at least three pieces, got 2"),
    ],
)
def test_a_tokeniser_that_cannot_be_used_is_named(
    vocabulary: dict[str, int], message: str, model: Path
) -> None:
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(model / "tokenizer.json"))
    with pytest.raises(DataError, match=rf"tokenizer\.json: .*{message}"):
        load_tiny(model)
