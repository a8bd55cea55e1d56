"""options.json: read as published, written back the same, refused with the key that is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.bilm.layout import options_to_json, read_options, write_options
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.types import DataError, DataMissingError

ORIGINAL: dict[str, Any] = {
    "lstm": {
        "use_skip_connections": True,
        "projection_dim": 512,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 4096,
        "n_layers": 2,
    },
    "char_cnn": {
        "activation": "relu",
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
        "n_highway": 2,
        "embedding": {"dim": 16},
        "n_characters": 262,
        "max_characters_per_token": 50,
    },
}


def _read(folder: Path, content: Any) -> BilmOptions:
    path = folder / "options.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_options(path)


def test_the_original_model(tmp_path: Path) -> None:
    options = _read(tmp_path, ORIGINAL)
    assert options == BilmOptions(
        character_dim=16,
        filters=((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024)),
        highways=2,
        layers=2,
        cell_dim=4096,
        projection_dim=512,
    )
    assert options.filter_count == 2048
    assert options_to_json(options) == ORIGINAL
    write_options(options, tmp_path / "again.json")
    assert read_options(tmp_path / "again.json") == options


def test_what_the_published_code_may_leave_out(tmp_path: Path) -> None:
    content = json.loads(json.dumps(ORIGINAL))
    for group, key in (("char_cnn", "n_highway"), ("char_cnn", "activation"), ("lstm", "n_layers")):
        del content[group][key]
    content["lstm"]["cell_clip"] = None
    del content["lstm"]["proj_clip"]
    options = _read(tmp_path, content)
    assert (options.highways, options.layers) == (0, 1)
    assert options.cell_clip is options.projection_clip is None


def _set(group: str, key: str, value: Any) -> Callable[[Any], None]:
    return lambda content: content[group].__setitem__(key, value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("char_cnn", "n_characters", 261), "261, the figure of training"),
        (_set("char_cnn", "n_characters", 300), "n_characters to be 262, got 300"),
        (_set("char_cnn", "activation", "tanh"), "activation to be relu, got tanh"),
        (_set("char_cnn", "filters", []), "filters"),
        (_set("char_cnn", "filters", [[1, 32, 3]]), "filters"),
        (_set("char_cnn", "filters", [[1, True]]), "filters"),
        (_set("char_cnn", "filters", [[51, 4]]), "widths up to 50, got 51"),
        (_set("char_cnn", "embedding", 16), "embedding"),
        (_set("char_cnn", "max_characters_per_token", 2), "max_characters_per_token"),
        (_set("lstm", "dim", "4096"), "dim to be a whole number"),
        (_set("lstm", "dim", 256), "at most lstm.dim = 256, got 512"),
        (_set("lstm", "n_layers", 0), "n_layers"),
        (_set("lstm", "cell_clip", -3), "cell_clip"),
        (_set("lstm", "use_skip_connections", None), "use_skip_connections to be true or false"),
        (lambda content: content.pop("lstm"), "lstm to be a group of settings, got nothing"),
    ],
)
def test_wrong_values_are_named(tmp_path: Path, change: Callable[[Any], None], message: str) -> None:
    content = json.loads(json.dumps(ORIGINAL))
    change(content)
    with pytest.raises(DataError) as caught:
        _read(tmp_path, content)
    assert str(caught.value).startswith(f"{tmp_path / 'options.json'}:1: ")
    assert message in str(caught.value)


def test_files_that_hold_no_options(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match=r"options\.json"):
        read_options(tmp_path / "options.json")
    with pytest.raises(DataError, match="group of settings"):
        _read(tmp_path, [1, 2])
    (tmp_path / "options.json").write_text('{\n"lstm": ', encoding="utf-8")
    with pytest.raises(DataError, match=r"options\.json:2: expected JSON"):
        read_options(tmp_path / "options.json")
