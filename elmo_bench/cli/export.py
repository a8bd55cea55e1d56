"""`python -m elmo_bench export`: a biLM as a weight file in the published layout."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from elmo_bench.types import UsageError

HELP = """write a biLM as the weight file and the options file that bilm-tf, AllenNLP and simple_elmo read

MODEL is a directory with options.json and weights, or the weight file. The weights are written as float32 in
HDF5, the options next to FILE: to elmo_options.json for elmo_weights.hdf5, otherwise to options.json.
simple_elmo reads a directory with model.hdf5 and options.json."""
EXAMPLE = (
    "python -m elmo_bench export results/models/small elmo_weights.hdf5\n"
    "  python -m elmo_bench export results/models/small for_simple_elmo/model.hdf5"
)

SUFFIXES = (".hdf5", ".h5")


def configure(parser: argparse.ArgumentParser) -> None:
    """The model and the file to write."""
    parser.add_argument("model", type=Path, metavar="MODEL")
    parser.add_argument("file", type=Path, metavar="FILE.hdf5")


def run(arguments: argparse.Namespace) -> None:
    """Write both files, and print what not every program reads."""
    file: Path = arguments.file
    if file.suffix not in SUFFIXES:
        raise UsageError(f"{file}: expected a name that ends in {' or '.join(SUFFIXES)}")
    from elmo_bench.bilm.array_files import has_arrays, write_arrays
    from elmo_bench.bilm.files import export_arrays, load_bilm
    from elmo_bench.bilm.layout import find_model, has_options, pair_options, write_options

    options_file = pair_options(file)
    model = load_bilm(*find_model(arguments.model))
    arrays, options = export_arrays(model), model.options
    # A file that already holds this model was written by an earlier export, killed between the two files.
    is_ours = {file: has_arrays(file, arrays), options_file: has_options(options_file, options)}
    for target, ours in is_ours.items():
        if os.path.lexists(target) and not ours:
            raise UsageError(
                f"{target}: there is a file already, with other content; choose another name or move it away"
            )
    if not is_ours[file]:
        write_arrays(file, arrays)
    if not is_ours[options_file]:
        write_options(options, options_file)
    print(f"wrote {file} and {options_file}")
    for what, is_there in {
        "projection after the convolutions (CNN_proj)": model.options.has_token_projection,
        "projection of the LSTM's state (W_P_0)": model.options.has_state_projection,
        "skip connections between its layers": model.options.use_skip_connections,
    }.items():
        if not is_there:
            print(f"note: this model has no {what}, without which AllenNLP cannot read it")
