"""An exported biLM against the reference weight files, read with plain h5py as the three other programs read.

What each of them reads, besides `options.json`:

* bilm-tf (`bilm/model.py`) and simple_elmo (`simple_elmo/model.py`) look a variable of their graph up by its
  name: `char_embed`, to which they add the row of the missing token; `CNN/W_cnn_N` and `CNN/b_cnn_N`;
  `CNN_high_N/{W,b}_{carry,transform}`; `CNN_proj/{W,b}_proj` where the filters are not as many as
  `projection_dim`; `RNN_D/RNN/MultiRNNCell/CellN/LSTMCell/{W_0,B}`, and `W_P_0` where `dim` is not
  `projection_dim`. A shape that differs from the options is an error. simple_elmo's directory has the names
  `model.hdf5` and `options.json`.
* AllenNLP (`modules/elmo.py`, `modules/elmo_lstm.py`) walks the same groups, one step at a time. It always
  reads `CNN_proj` and `W_P_0`, and it refuses a model without `use_skip_connections`.
"""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from elmo_bench.cli.main import main

FOLDER = Path(__file__).parent / "files" / "bilm"
KINDS = ("allennlp", "bilm_tf")


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A reference directory, and one with what `export` writes of it."""
    reference = FOLDER / request.param
    exported = tmp_path_factory.mktemp(request.param)
    assert main(["export", str(reference / "lm_weights.hdf5"), str(exported / "model.hdf5")]) == 0
    return reference, exported


def all_arrays(path: Path) -> dict[str, np.ndarray]:
    """Every data set of a file by its whole name."""
    arrays = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, found: arrays.update({name: found[()]}) if isinstance(found, h5py.Dataset) else None
        )
    return arrays


def test_names_shapes_types_and_values_are_those_of_the_reference(pair: tuple[Path, Path]) -> None:
    reference, exported = all_arrays(pair[0] / "lm_weights.hdf5"), all_arrays(pair[1] / "model.hdf5")
    assert len(reference) == 33
    assert {name: (found.shape, found.dtype) for name, found in exported.items()} == {
        name: (found.shape, found.dtype) for name, found in reference.items()
    }
    assert [name for name in reference if not np.array_equal(reference[name], exported[name])] == []


def test_the_options_are_those_of_the_reference(pair: tuple[Path, Path]) -> None:
    assert json.loads((pair[1] / "options.json").read_text()) == json.loads(
        (pair[0] / "options.json").read_text()
    )


def test_every_variable_of_the_graph_of_bilm_tf_is_there(pair: tuple[Path, Path]) -> None:
    """Variable by variable, each of the shape that bilm-tf's and simple_elmo's graphs ask for."""
    options = json.loads((pair[1] / "options.json").read_text())
    lstm, characters = options["lstm"], options["char_cnn"]
    filters, dim, cells = characters["filters"], lstm["projection_dim"], lstm["dim"]
    width = sum(count for _, count in filters)
    assert characters["n_characters"] == 262 and characters["activation"] in ("relu", "tanh")
    shapes: dict[str, tuple[int, ...]] = {
        "char_embed": (characters["n_characters"] - 1, characters["embedding"]["dim"])
    }
    for number, (length, count) in enumerate(filters):
        shapes[f"CNN/W_cnn_{number}"] = (1, length, characters["embedding"]["dim"], count)
        shapes[f"CNN/b_cnn_{number}"] = (count,)
    for number in range(characters["n_highway"]):
        for gate in ("carry", "transform"):
            shapes[f"CNN_high_{number}/W_{gate}"] = (width, width)
            shapes[f"CNN_high_{number}/b_{gate}"] = (width,)
    if width != dim:
        shapes |= {"CNN_proj/W_proj": (width, dim), "CNN_proj/b_proj": (dim,)}
    for direction in (0, 1):
        for layer in range(lstm["n_layers"]):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes |= {f"{cell}/W_0": (2 * dim, 4 * cells), f"{cell}/B": (4 * cells,)}
            if cells != dim:
                shapes[f"{cell}/W_P_0"] = (cells, dim)
    with h5py.File(pair[1] / "model.hdf5") as file:
        assert {name: file[name].shape for name in shapes} == shapes
        assert {file[name].dtype for name in shapes} == {np.dtype("float32")}


def test_every_group_that_allennlp_walks_is_there(pair: tuple[Path, Path]) -> None:
    options = json.loads((pair[1] / "options.json").read_text())
    lstm, characters = options["lstm"], options["char_cnn"]
    assert {"cell_clip", "proj_clip", "dim", "projection_dim", "n_layers", "use_skip_connections"} <= set(
        lstm
    )
    with h5py.File(pair[1] / "model.hdf5") as file:
        assert file["char_embed"][...].ndim == 2
        for number in range(len(characters["filters"])):
            # transposed, it is the weight of a convolution over characters
            weight = file["CNN"][f"W_cnn_{number}"][...]
            assert np.transpose(weight.squeeze(axis=0), axes=(2, 1, 0)).shape[0] == len(
                file["CNN"][f"b_cnn_{number}"][...]
            )
        for number in range(characters["n_highway"]):
            assert set(file[f"CNN_high_{number}"]) == {"W_transform", "b_transform", "W_carry", "b_carry"}
        assert set(file["CNN_proj"]) == {"W_proj", "b_proj"}
        for direction in (0, 1):
            for layer in range(lstm["n_layers"]):
                found = file[f"RNN_{direction}"]["RNN"]["MultiRNNCell"][f"Cell{layer}"]["LSTMCell"]
                assert set(found) == {"W_0", "B", "W_P_0"}


def test_what_allennlp_refuses_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = {}
    for kind in KINDS:
        assert main(["export", str(FOLDER / kind / "lm_weights.hdf5"), str(tmp_path / f"{kind}.hdf5")]) == 0
        notes[kind] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
        (tmp_path / "options.json").unlink()
    assert notes["allennlp"] == []
    (note,) = notes["bilm_tf"]
    assert "no skip connections" in note and "AllenNLP" in note
