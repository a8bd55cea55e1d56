"""What every encoder of conf/encoder must hold; a new encoder is tested by being there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from elmo_bench.bilm.files import save_bilm
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.catalog import list_plugins
from elmo_bench.config import EncoderConfig, PathsConfig
from elmo_bench.encoders.cove import Cove
from elmo_bench.encoders.find import find_encoder, load_plugin
from elmo_bench.encoders.protocol import EncoderContext, EncoderPlugin
from elmo_bench.encoders.words import WordVectors
from elmo_bench.testing import check_encoder
from elmo_bench.testing.encoders import PLAIN
from elmo_bench.types import DataMissingError, UsageError
from tests.support.caches import copy_cache
from tests.support.composition import run_config
from tests.support.tiny_transformers import save_tiny

PLUGINS = list_plugins("encoder")
ENCODERS = sorted(PLUGINS)  # of installed packages too
QUICK = {PLUGINS[name]: name for name in reversed(ENCODERS)}.values()  # one of each class
every_encoder = pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ENCODERS]
)
TOLERANCE = {"float32": 1e-5, "bfloat16": 2e-2}  # of the largest value, whatever else is encoded


@pytest.fixture(scope="module")
def root(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_cache(sample, tmp_path_factory.mktemp("encoders"))


@pytest.fixture(scope="module")
def files(root: Path) -> dict[str, dict[str, Any]]:
    """Settings of encoders that read files: small files of the kind that they expect."""
    sizes = BilmOptions(filters=((1, 8), (2, 8)), highways=1, cell_dim=12, projection_dim=6)
    model = root / "files" / "model"
    save_bilm(BiLM(sizes, torch.Generator().manual_seed(2)), model)  # an untrained twin has other weights
    vectors = root / "files" / "vectors.txt"
    rows = "".join(f"{word} {index}.5 {index % 3}\n" for index, word in enumerate(PLAIN))
    vectors.write_text(rows, encoding="utf-8")
    transformer = save_tiny(root / "files" / "transformer", "bert")
    return {
        "directory": {"directory": model},
        "model": {"model": str(transformer)},
        "weights": {"options": model / "options.json", "weights": model / "weights.safetensors"},
        "file": {"file": vectors},
        "vectors": {"vectors": vectors, "weights": write_cove(root / "files" / "cove.pth", dim=2)},
    }


def write_cove(path: Path, dim: int) -> Path:
    lstm = torch.nn.LSTM(dim, 5, num_layers=2, bidirectional=True)
    torch.save(lstm.state_dict(), path, _use_new_zipfile_serialization=False)
    return path


def choose(name: str, root: Path, files: dict[str, dict[str, Any]]) -> tuple[EncoderPlugin, EncoderContext]:
    """The encoder of a file of conf/encoder, as a run finds it, on small files."""
    mandatory = {
        "model": [f"encoder.directory={files['directory']['directory']}"],
        "file": [f"encoder.{key}={path}" for key, path in files["weights"].items()],
        "transformer": [f"encoder.model={files['model']['model']}"],
    }
    tiny = ["bilm@encoder.bilm=tiny"] if name in ("sample", "untrained") else []
    config = run_config("task=ner", f"encoder={name}", *mandatory.get(name, ()), *tiny, root=root)
    settings = config.encoder.settings
    for small in files.values():
        if small.keys() <= settings.keys():
            settings |= small
    values = {"name": name, "plugin": config.encoder.plugin, **settings}
    context = EncoderContext(name, config.paths, config.trainer, lambda message: None)
    return load_plugin(EncoderConfig.model_validate(values)), context


@every_encoder
def test_every_encoder_holds_the_contract(name: str, root: Path, files: dict[str, dict[str, Any]]) -> None:
    plugin, context = choose(name, root, files)
    variants = [replace(plugin, precision="bfloat16")] if hasattr(plugin, "precision") else []
    tolerance = TOLERANCE[getattr(plugin, "precision", "float32")]
    card = check_encoder(plugin, variants=variants, tolerance=tolerance, context=context)
    assert card.name == name
    assert card.parameters


@pytest.mark.parametrize("name", ["model", "transformer", "untrained"])
def test_half_precision_holds_it_within_its_own_accuracy(
    name: str, root: Path, files: dict[str, dict[str, Any]]
) -> None:
    plugin, context = choose(name, root, files)
    half = replace(plugin, precision="bfloat16")
    check_encoder(half, variants=[plugin], tolerance=TOLERANCE["bfloat16"], context=context)


@every_encoder
def test_an_untrained_twin_has_the_same_sizes_and_weights_of_its_own(
    name: str, root: Path, files: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    plugin, context = choose(name, root, files)
    if isinstance(plugin, WordVectors | Cove):
        with pytest.raises(UsageError, match=r"^encoder\.untrained=true: \w+ has no twin"):
            plugin.untrained(context)
        return
    twin, elsewhere = plugin.untrained(context), replace(context, paths=at(tmp_path, context))
    card = check_encoder(twin, tolerance=TOLERANCE["float32"], context=context)
    trained = plugin.find(context).card
    same = ("layer_count", "dim", "repeats_halves", "parameters")
    assert [getattr(card, key) for key in same] == [getattr(trained, key) for key in same]
    assert (card.fingerprint == trained.fingerprint) == (name == "untrained")
    assert card == twin.find(elsewhere).card  # nothing but the sizes decides the weights


def at(directory: Path, context: EncoderContext) -> PathsConfig:
    return context.paths.model_copy(update={"cache": directory})


def test_the_twin_of_an_encoder_that_is_still_to_be_trained_needs_no_training(tmp_path: Path) -> None:
    config = run_config(
        "task=ner", "encoder.untrained=true", "bilm@encoder.bilm=tiny", f"paths.cache={tmp_path}"
    )
    found = find_encoder(config.encoder, config.paths, config.trainer, lambda message: None)
    assert found.card.name == "untrained_sample"
    assert [path.name.partition("-")[0] for path in (tmp_path / "models").glob("[!.]*")] == ["untrained"]


@pytest.mark.parametrize("name", sorted(set(ENCODERS) - {"words"}))  # nothing is computed for words
def test_the_device_decides_where_it_is_loaded_and_not_its_fingerprint(
    name: str, root: Path, files: dict[str, dict[str, Any]]
) -> None:
    plugin, context = choose(name, root, files)
    elsewhere = plugin.find(replace(context, device="nowhere"))
    assert elsewhere.card == plugin.find(context).card
    with pytest.raises(UsageError, match=r"^encoder\.device=nowhere: PyTorch cannot use it"):
        elsewhere.load()


@pytest.mark.parametrize("name", ENCODERS)
def test_an_unknown_setting_is_refused(name: str) -> None:
    path = list_plugins("encoder")[name]
    config = EncoderConfig.model_validate({"name": name, "plugin": path, "no_such_setting": 1})
    with pytest.raises(UsageError, match=r"^encoder\.no_such_setting: there is no such key"):
        load_plugin(config)


@pytest.mark.parametrize(
    "name", ["cove", "file", "model", "original", "small", "small_long", "small_open", "words"]
)
def test_a_missing_file_is_named_with_its_key(
    name: str, root: Path, files: dict[str, dict[str, Any]]
) -> None:
    plugin, context = choose(name, root, files)
    for key in ("directory", "options", "weights", "file", "vectors"):
        if hasattr(plugin, key):
            with pytest.raises(DataMissingError, match=rf"absent: no such .*\(encoder\.{key}\)"):
                replace(plugin, **{key: root / "absent"}).find(context)
