"""The public function that loads any encoder."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

import elmo_bench
from elmo_bench import Elmo, FrozenEncoder, directories, load_encoder
from elmo_bench.bilm.files import save_bilm
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.loading import choose_model, spell_value
from elmo_bench.sweep.compose import open_composer
from elmo_bench.types import DataMissingError, UsageError

SENTENCES = [["The", "cat", "sat", "."], [], ["Zürich"]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("it's a model, {no} [name]=x")
    options = BilmOptions(filters=((1, 8), (2, 8)), highways=1, cell_dim=12, projection_dim=6)
    save_bilm(BiLM(options, torch.Generator().manual_seed(2)), folder)
    return folder


def test_it_is_offered_by_the_package_without_loading_torch() -> None:
    assert {"Elmo", "load_encoder"} <= set(elmo_bench.__all__)
    program = "import sys, elmo_bench; assert 'torch' not in sys.modules; from elmo_bench import load_encoder"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_directory_or_a_weight_file_of_a_bilm_is_recognised(model: Path) -> None:
    expected = Elmo.load(model)
    for path in (model, str(model), model / "weights.safetensors"):
        encoder = load_encoder(path)
        assert isinstance(encoder, FrozenEncoder)
        assert encoder.fingerprint == expected.fingerprint
        assert (encoder.layer_count, encoder.dim) == (3, 12)
        for found, other in zip(encoder.embed(SENTENCES), expected.embed(SENTENCES), strict=True):
            assert np.array_equal(found, other)
    assert encoder.mix(SENTENCES)[0].shape == (4, 12)
    assert "3 layers of 12" in repr(encoder)


def test_settings_are_those_of_the_encoder(model: Path) -> None:
    half = load_encoder(model, precision="bfloat16")
    assert half.fingerprint == Elmo.load(model, precision="bfloat16").fingerprint
    twin = load_encoder(model, untrained=True)
    assert twin.fingerprint not in (half.fingerprint, load_encoder(model).fingerprint)
    with pytest.raises(UsageError, match=r"encoder\.precisoin: .*did you mean 'precision'"):
        load_encoder(model, precisoin="bfloat16")
    with pytest.raises(UsageError, match=r"encoder\.device=nowhere"):
        load_encoder(model, device="nowhere")
    with pytest.raises(UsageError, match="expected settings of numbers, texts and lists"):
        load_encoder(model, layers=object())
    with pytest.raises(UsageError, match="expected the name of an encoder or a directory, got None"):
        load_encoder(None)  # type: ignore[arg-type]


def test_numbers_of_numpy_and_names_with_dollars_are_taken_as_they_are(model: Path, tmp_path: Path) -> None:
    place = shutil.copytree(model, tmp_path / "${x}")
    assert load_encoder(place, layers=np.array([0, 2])).layer_count == 2


def test_a_name_of_conf_takes_its_settings(model: Path, tmp_path: Path) -> None:
    assert load_encoder("model", directory=model).fingerprint == Elmo.load(model).fingerprint
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 1 2\n", encoding="utf-8")
    assert load_encoder("words", file=vectors).embed([["cat", "dog"]])[0].tolist() == [[[1, 2], [0, 0]]]
    with pytest.raises(UsageError, match=r"encoder\.directory: a value is needed"):
        load_encoder("model")


def test_an_encoder_of_your_own_comes_from_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "_own", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder" / "vectors.yaml").write_text(
        f"name: vectors\nplugin: elmo_bench.encoders.words.WordVectors\nfile: {tmp_path}/vectors.txt\n"
    )
    (tmp_path / "vectors.txt").write_text("cat 3\n", encoding="utf-8")
    assert load_encoder("vectors", config_dir=tmp_path).embed([["cat"]])[0].tolist() == [[[3]]]


def test_a_transformers_directory_is_recognised_by_its_config(tmp_path: Path, model: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert choose_model(tmp_path) == ["encoder=transformer", f"encoder.model='{tmp_path}'"]
    assert choose_model(model)[0] == "encoder=model"


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_file_of_a_transformers_directory_stands_for_it(tmp_path: Path, name: str) -> None:
    for file in ("model.safetensors", "config.json"):
        (tmp_path / file).write_text("{}")
    assert choose_model(tmp_path / name) == choose_model(tmp_path)


def test_what_only_runs_can_do_is_refused(model: Path) -> None:
    with pytest.raises(UsageError, match=r"encoder\.context: a setting of runs"):
        load_encoder(model, context="document")


def test_some_layers_come_out_under_a_fingerprint_of_their_own(model: Path) -> None:
    whole, some = load_encoder(model), load_encoder(model, layers=[2, 0])
    assert (some.layer_count, some.dim) == (2, whole.dim)
    assert len({whole.fingerprint, some.fingerprint, load_encoder(model, layers=[0, 1]).fingerprint}) == 3
    assert load_encoder(model, layers=[0, 1, 2]).fingerprint == whole.fingerprint
    for all_layers, kept in zip(whole.embed(SENTENCES), some.embed(SENTENCES), strict=True):
        assert (kept == all_layers[[0, 2]]).all()
    with pytest.raises(UsageError, match=r"encoder\.layers"):
        load_encoder(model, layers=[3])


def test_what_may_have_been_meant_is_named(model: Path) -> None:
    with pytest.raises(DataMissingError, match=f"models below it: .*{re.escape(model.name)}"):
        load_encoder(model.parent)
    with pytest.raises(DataMissingError, match=r'load_encoder\("transformer", model="owner/name"'):
        load_encoder("owner/name")


def test_what_is_not_there_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"wrods: .*did you mean 'words'\? \(encoders: .*small"):
        load_encoder("wrods")
    with pytest.raises(DataMissingError, match=r"absent: no such model; expected a directory with options"):
        load_encoder(tmp_path / "absent")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    with pytest.raises(
        DataMissingError, match=r"here: no such model; expected a directory with options.json and"
    ):
        load_encoder("here")
    with pytest.raises(UsageError, match="choose an encoder: encoder="), open_composer() as composer:
        composer.values("encode", [])


@pytest.mark.parametrize(
    "value",
    [
        "plain",
        "it's",
        "a\\b",
        "c:\\",
        "${x}",
        "{a: 1}",
        "",
        "null",
        3,
        -2.5,
        True,
        None,
        [1, "b,c"],
        {"k": 'v"'},
    ],
)
def test_every_value_reaches_the_configuration_as_it_is(value: object) -> None:
    with open_composer() as composer:
        (override,) = composer.parse([f"++encoder.key={spell_value(value)}"])
    assert OmegaConf.create({"key": override.value()})["key"] == value
