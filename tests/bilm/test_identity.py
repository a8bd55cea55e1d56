"""Hashes that published runs hold: a change here orphans every stored vector and every trained biLM."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml

from elmo_bench.bilm.engine.embedder import fingerprint_model
from elmo_bench.bilm.files import load_bilm, save_bilm
from elmo_bench.bilm.identity import count_parameters, fingerprint_file
from elmo_bench.bilm.layout import find_model
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmConfig, BilmOptions
from elmo_bench.config import read_config
from elmo_bench.hashing import hash_value
from elmo_bench.types import UsageError

CONF = Path(__file__).resolve().parents[2] / "conf" / "bilm"
OPTIONS = BilmOptions(
    character_dim=3, filters=((1, 4), (2, 5)), highways=1, layers=2, cell_dim=7, projection_dim=6
)


@pytest.mark.parametrize(
    ("options", "fingerprint"),
    [
        (OPTIONS, "ea539d7ed63b8d5d724b145722f2b48f4e6908274e0abc096628570402ef4739"),
        (
            OPTIONS.model_copy(update={"maximum_characters": 20}),
            "b4704d220ab334c2a84c8ce3d53f35bc9d0e509c1f9ff8c5c46820db8c43ddd4",
        ),
    ],
)
@torch.no_grad()
def test_the_fingerprint_of_a_model_stays(options: BilmOptions, fingerprint: str) -> None:
    model = BiLM(options)
    for parameter in model.parameters():
        parameter.zero_()
    assert fingerprint_model(model, "reset", "float32") == fingerprint


@pytest.mark.parametrize("is_half", [False, True])
def test_a_weight_file_has_the_fingerprint_of_its_model(tmp_path: Path, is_half: bool) -> None:
    save_bilm(BiLM(OPTIONS, torch.Generator().manual_seed(1)), tmp_path, is_half)
    options, weights = find_model(tmp_path)
    model = load_bilm(options, weights)
    assert fingerprint_file(OPTIONS, weights, "reset", "float32") == fingerprint_model(
        model, "reset", "float32"
    )
    assert count_parameters(OPTIONS) == sum(weight.numel() for weight in model.parameters())


def test_the_recipe_of_the_sample_bilm_stays() -> None:
    values = yaml.safe_load((CONF / "sample.yaml").read_text(encoding="utf-8"))
    config = read_config(BilmConfig, values)
    recipe = hash_value([config.model_dump(mode="json")])
    assert recipe == "d1ccff369f941996722f6b79e3970038f76eb52d6c5b5564e8df4597ad85f1db"
    longer = {**values, "architecture": {**values["architecture"], "maximum_characters": 60}}
    assert hash_value([read_config(BilmConfig, longer).model_dump(mode="json")]) != recipe


def test_wrong_sizes_are_named_by_their_key() -> None:
    values = yaml.safe_load((CONF / "tiny.yaml").read_text(encoding="utf-8"))
    for key, value, message in (
        ("layers", 0, "architecture.layers: input should be greater than or equal to 1, got 0"),
        ("maximum_characters", 2, "architecture.maximum_characters: input should be greater"),
        ("cell_dims", 4, "architecture.cell_dims: there is no such key"),
    ):
        wrong = {**values, "architecture": {**values["architecture"], key: value}}
        with pytest.raises(UsageError, match=message):
            read_config(BilmConfig, wrong)
