"""Weight files: exact round trips, and refusal of everything that is not plain published data."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from elmo_bench.bilm import array_files
from elmo_bench.bilm.array_files import hash_arrays, read_arrays, write_arrays
from elmo_bench.bilm.files import export_arrays, load_bilm, save_bilm
from elmo_bench.bilm.layout import expected_shapes, find_model, write_options
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.cli.main import main
from elmo_bench.types import BenchError, DamagedFileError, DataError, DataMissingError, UsageError

OPTIONS = BilmOptions(
    character_dim=3, filters=((1, 4), (2, 5)), highways=1, layers=2, cell_dim=7, projection_dim=6
)
KERNEL = "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/W_0"


def _model(options: BilmOptions = OPTIONS, seed: int = 1) -> BiLM:
    model = BiLM(options, torch.Generator().manual_seed(seed))
    for parameter in model.parameters():
        parameter.data.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed)) / 9)
    model.token_encoder.characters.weight.data[0].zero_()
    return model


def _written(folder: Path) -> Path:
    path = folder / "weights.hdf5"
    write_arrays(path, export_arrays(_model()))
    write_options(OPTIONS, folder / "options.json")
    return path


@pytest.mark.parametrize(
    "options",
    [
        OPTIONS,
        # no token projection
        BilmOptions(character_dim=3, filters=((1, 6),), highways=0, layers=1, cell_dim=7, projection_dim=6),
        # no state projection, no clips
        BilmOptions(
            character_dim=3,
            filters=((1, 4),),
            highways=1,
            layers=2,
            cell_dim=6,
            projection_dim=6,
            maximum_characters=50,
            cell_clip=None,
            projection_clip=None,
            use_skip_connections=False,
        ),
    ],
)
def test_model_to_hdf5_to_safetensors_to_model_is_exact(tmp_path: Path, options: BilmOptions) -> None:
    arrays = export_arrays(_model(options))
    write_options(options, tmp_path / "options.json")
    write_arrays(tmp_path / "weights.hdf5", arrays)
    read = read_arrays(tmp_path / "weights.hdf5", expected_shapes(options))
    digest = write_arrays(tmp_path / "w.safetensors", read)
    assert digest == hash_arrays(arrays)
    model = load_bilm(tmp_path / "options.json", tmp_path / "w.safetensors")
    assert model.options == options
    back = export_arrays(model)
    assert back.keys() == arrays.keys()
    assert all(np.array_equal(back[name], arrays[name]) for name in arrays)
    for name, parameter in _model(options).named_parameters():
        assert torch.equal(parameter, model.get_parameter(name))


def test_export_writes_what_other_programs_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_bilm(_model(), tmp_path / "model", is_half=True)
    file = tmp_path / "elmo_weights.hdf5"
    assert main(["export", str(tmp_path / "model"), str(file)]) == 0
    assert capsys.readouterr().out == f"wrote {file} and {tmp_path / 'elmo_options.json'}\n"
    with h5py.File(file) as written:
        for name, shape in expected_shapes(OPTIONS).items():
            assert (written[name].shape, written[name].dtype) == (shape, np.float32)
    options = json.loads((tmp_path / "elmo_options.json").read_text())
    assert options["char_cnn"]["n_characters"] == 262
    exported, model = (export_arrays(load_bilm(*find_model(path))) for path in (file, tmp_path / "model"))
    assert all(np.array_equal(exported[name], model[name]) for name in model)
    assert main(["export", str(tmp_path / "model"), str(tmp_path / "weights.bin")]) == 2


@pytest.mark.parametrize("name", ["elmo_weights.hdf5", "elmo_options.json"])
def test_an_export_that_was_killed_between_its_files_goes_on_and_overwrites_nothing(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_bilm(_model(), tmp_path / "model")
    command = ["export", str(tmp_path / "model"), str(tmp_path / "elmo_weights.hdf5")]
    assert main(command) == 0
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).unlink()
    assert main(command) == 0
    assert (tmp_path / name).read_bytes() == content
    (tmp_path / name).write_bytes(content[:-9])
    capsys.readouterr()
    assert main(command) == 2
    assert f"{name}: there is a file already, with other content" in capsys.readouterr().err
    assert (tmp_path / name).read_bytes() == content[:-9]


def test_what_safetensors_writes_first_is_not_left_by_a_process_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(arrays: Any, path: Path, **options: Any) -> None:
        path.with_name(".tmp4KIGxF").touch()  # as safetensors does
        os._exit(9)

    path, arrays = tmp_path / "weights.safetensors", export_arrays(_model())
    monkeypatch.setattr(array_files, "save_file", begin)
    if (child := os.fork()) == 0:
        write_arrays(path, arrays)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert len(list(tmp_path.rglob(".tmp4KIGxF"))) == 1
    monkeypatch.undo()
    write_arrays(path, arrays)
    assert list(tmp_path.iterdir()) == [path]


def test_a_flipped_bit_anywhere_in_hdf5_is_refused_by_name_or_is_in_a_value(tmp_path: Path) -> None:
    path = tmp_path / "weights.hdf5"
    write_arrays(path, export_arrays(_model()))
    content = path.read_bytes()
    refused = 0
    for place in range(0, len(content), 101):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            assert read_arrays(path, expected_shapes(OPTIONS)).keys() == export_arrays(_model()).keys()
        except DataError as error:
            assert str(path) in str(error)
            refused += 1
    assert refused > 9


def test_export_says_what_allennlp_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = OPTIONS.model_copy(update={"filters": ((1, 6),)})
    save_bilm(_model(options), tmp_path)
    assert main(["export", str(tmp_path), str(tmp_path / "small_weights.h5")]) == 0
    assert "note: this model has no projection after the convolutions" in capsys.readouterr().out


def test_half_precision_weights_widen_and_stay_the_same_when_saved_again(tmp_path: Path) -> None:
    digest = save_bilm(_model(), tmp_path / "a", is_half=True)
    model = load_bilm(*find_model(tmp_path / "a"))
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    assert save_bilm(model, tmp_path / "b", is_half=True) == digest


def test_published_order_of_gates_and_forget_bias() -> None:
    model = _model()
    layer = model.forward_stack.layers[0]
    arrays = export_arrays(model)
    names = ("entry", "candidate", "forget", "exit")
    blocks = dict(zip(names, np.split(arrays[KERNEL], 4, axis=1), strict=True))
    ours = dict(zip(("entry", "forget", "candidate", "exit"), layer.input_weight.chunk(4), strict=True))
    for name in names:
        assert np.array_equal(blocks[name][:6], ours[name].detach().numpy().T)
    difference = (layer.gate_bias - layer.bias).detach()
    assert difference.chunk(4)[1].numpy() == pytest.approx(np.ones(7), abs=1e-6)
    assert difference.abs().sum().item() == pytest.approx(7.0, abs=1e-5)


def _replace(name: str, make: Callable[[Any, str], None]) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[name]
        make(file, name)

    return change


def _external_link(file: Any, name: str) -> None:
    file[name] = h5py.ExternalLink("other.hdf5", "/secret")


def _soft_link(file: Any, name: str) -> None:
    file[name] = h5py.SoftLink("/char_embed")


def _external_storage(file: Any, name: str) -> None:
    file.create_dataset(name, (12, 28), np.float32, external=[("raw.bin", 0, 12 * 28 * 4)])


def _virtual(file: Any, name: str) -> None:
    layout = h5py.VirtualLayout((12, 28), np.float32)
    layout[:] = h5py.VirtualSource("other.hdf5", "secret", (12, 28))
    file.create_virtual_dataset(name, layout)


def _stored(value: Any) -> Callable[[Any, str], None]:
    return lambda file, name: file.create_dataset(name, data=value)


def _not_finite(value: float) -> Callable[[Any, str], None]:
    array = np.zeros((12, 28), np.float32)
    array[3, 4] = value
    return _stored(array)


def _add(name: str) -> Callable[[h5py.File], None]:
    return lambda file: file.create_dataset(name, data=np.zeros(3, np.float32))


BAD_FILES: list[tuple[str, Callable[[h5py.File], None], str]] = [
    ("external link", _replace(KERNEL, _external_link), "ExternalLink"),
    ("soft link", _replace(KERNEL, _soft_link), "SoftLink"),
    ("linked group", _replace("CNN", _external_link), "ExternalLink"),
    ("external storage", _replace(KERNEL, _external_storage), "reference to other files"),
    ("virtual dataset", _replace(KERNEL, _virtual), "reference to other files"),
    ("unexpected array", _add("softmax/W"), "softmax"),
    ("unexpected group", lambda file: file.create_group("CNN/inner"), "CNN/inner"),
    ("missing array", lambda file: file.__delitem__(KERNEL), KERNEL),
    ("shape", _replace(KERNEL, _stored(np.zeros((12, 27), np.float32))), "(12, 28), got (12, 27)"),
    ("double", _replace(KERNEL, _stored(np.zeros((12, 28)))), "float32, got float64"),
    ("text", _replace(KERNEL, _stored(np.full((12, 28), b"a"))), "float32"),
    ("not a number", _replace(KERNEL, _not_finite(float("nan"))), "finite"),
    ("infinity", _replace(KERNEL, _not_finite(float("inf"))), "finite"),
    ("262 rows", _replace("char_embed", _stored(np.zeros((262, 3), np.float32))), "added when loading"),
]


@pytest.mark.parametrize(
    ("change", "message"), [row[1:] for row in BAD_FILES], ids=[row[0] for row in BAD_FILES]
)
def test_hdf5_files_with_anything_else_are_refused(
    tmp_path: Path, change: Callable[[h5py.File], None], message: str
) -> None:
    path = _written(tmp_path)
    with h5py.File(tmp_path / "other.hdf5", "w") as other:
        other["secret"] = np.zeros((12, 28), np.float32)
    (tmp_path / "raw.bin").write_bytes(bytes(12 * 28 * 4))
    read_arrays(path, expected_shapes(OPTIONS))
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(DataError) as caught:
        read_arrays(path, expected_shapes(OPTIONS))
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["weights.hdf5", "weights.safetensors"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not weights", b"\x89HDF\r\n\x1a\n" + bytes(20)])
def test_other_files_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="expected a"):
        read_arrays(tmp_path / name, expected_shapes(OPTIONS))


def test_a_flipped_bit_in_safetensors_is_noticed(tmp_path: Path) -> None:
    save_bilm(_model(), tmp_path)
    path = tmp_path / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match="sha256"):
        load_bilm(*find_model(tmp_path))


def test_options_and_weights_of_different_models_are_told_apart(tmp_path: Path) -> None:
    path = _written(tmp_path)
    for other in (
        BilmOptions(
            character_dim=3, filters=((1, 4), (2, 5)), highways=2, layers=2, cell_dim=7, projection_dim=6
        ),
        BilmOptions(
            character_dim=3, filters=((1, 4), (2, 5)), highways=1, layers=1, cell_dim=7, projection_dim=6
        ),
        BilmOptions(
            character_dim=3, filters=((1, 4), (2, 5)), highways=1, layers=2, cell_dim=8, projection_dim=6
        ),
    ):
        with pytest.raises(DataError, match="same model"):
            read_arrays(path, expected_shapes(other))


def test_models_are_found_under_usual_names(tmp_path: Path) -> None:
    _written(tmp_path)
    options, weights = tmp_path / "options.json", tmp_path / "weights.hdf5"
    assert find_model(tmp_path) == find_model(weights) == (options, weights)
    published = tmp_path / "elmo_2x7_6_options.json"
    options.rename(published)
    weights = weights.rename(tmp_path / "elmo_2x7_6_weights.hdf5")
    assert find_model(tmp_path) == find_model(weights) == (published, weights)


def test_missing_and_ambiguous_models_are_explained(tmp_path: Path) -> None:
    with pytest.raises(DataMissingError, match="no such model"):
        find_model(tmp_path / "nothing")
    with pytest.raises(DataMissingError, match=r"weights\.safetensors"):
        find_model(tmp_path)
    (tmp_path / "a_weights.hdf5").touch()
    with pytest.raises(DataMissingError, match=r"options\.json"):
        find_model(tmp_path)
    (tmp_path / "b_weights.hdf5").touch()
    with pytest.raises(UsageError, match="one weight file"):
        find_model(tmp_path)


def test_every_refusal_has_an_exit_code_of_ours(tmp_path: Path) -> None:
    with pytest.raises(BenchError):
        read_arrays(tmp_path / "nothing.hdf5", expected_shapes(OPTIONS))
