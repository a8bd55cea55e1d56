"""Any encoder without the harness: from a directory, or a name and its settings, to a loaded encoder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from elmo_bench.config import EncodeConfig, nearest, read_config
from elmo_bench.directories import add_directories
from elmo_bench.elmo import FrozenEncoder
from elmo_bench.encoders.find import find_encoder
from elmo_bench.encoders.layers import keep_layers, kept_layers
from elmo_bench.encoders.protocol import FoundEncoder
from elmo_bench.encoders.transformer.files import CONFIG as TRANSFORMER_CONFIG
from elmo_bench.encoders.transformer.hub import HUB_ID
from elmo_bench.sweep.compose import Composer, open_composer, quote
from elmo_bench.tensors import check_device
from elmo_bench.types import DataMissingError, Log, UsageError, log_to_stderr

PRIMARY = "encode"  # conf/encode.yaml


def load_encoder(
    encoder: str | Path,
    *,
    config_dir: str | Path | Sequence[str | Path] = (),
    log: Log = log_to_stderr,
    **settings: Any,
) -> FrozenEncoder:
    """A directory of a biLM or of a transformers model, or the name of a file of conf/encoder.

    >>> encoder = load_encoder("results/models/small")                             # or a weight file
    >>> encoder = load_encoder("models/bert", pooling="first")                     # a transformers directory
    >>> encoder = load_encoder("models/bert", layers=[0, 6, 12])                   # three of its layers
    >>> encoder = load_encoder("cove", weights="wmtlstm.pth", vectors="glove.840B.300d.txt")
    >>> encoder = load_encoder("flair", config_dir="examples/flair_encoder", directory="flair_news_fast")
    >>> encoder.embed([["The", "cat", "sat", "."]])[0].shape                       # (layers, tokens, dim)
    (1, 4, 2048)

    `settings` are keys of the group `encoder`: `layers`, `device`, `untrained` and those of its file.
    `config_dir` is a directory of your own, or several (docs/EXTENDING.md).
    """
    add_directories(config_dir)
    with open_composer() as composer:
        words = [*name_encoder(composer, encoder), *spell_settings(settings)]
        found = find_composed(composer, words, log)
    return FrozenEncoder(found.load())


def find_chosen(words: Sequence[str], log: Log = log_to_stderr) -> FoundEncoder:
    """The encoder that overrides choose, such as encoder=small encoder.precision=bfloat16."""
    with open_composer(words) as composer:
        composer.require_single(words)
        return find_composed(composer, words, log)


def find_composed(composer: Composer, words: Sequence[str], log: Log) -> FoundEncoder:
    """The encoder that overrides choose, from files that an open composer reads."""
    config = read_config(EncodeConfig, composer.values(PRIMARY, words))
    if config.encoder.context != "sentence":
        raise UsageError("encoder.context: a setting of runs; here give a document's words as one sentence")
    check_device(config.encoder.device, "encoder.device")
    found = find_encoder(config.encoder, config.paths, config.trainer, log)
    kept = kept_layers(config.encoder.layers, found.card.layer_count)
    return found if kept == found.card.layers else keep_layers(found, kept)


def name_encoder(composer: Composer, encoder: str | Path) -> list[str]:
    """The overrides for a name of conf/encoder, or for what lies at a path; names go before paths."""
    if not isinstance(encoder, str | os.PathLike):
        raise UsageError(f"expected the name of an encoder or a directory, got {encoder!r}")
    text = os.fspath(encoder)
    names = composer.choices("encoder")
    is_path = isinstance(encoder, Path) or os.sep in text
    if text in names and not is_path:
        return [f"encoder={text}"]
    if not is_path and not Path(text).exists():
        raise UsageError(
            f"{text}: there is no such encoder and no such directory{nearest(text, names)} "
            f"(encoders: {', '.join(names)})"
        )
    return choose_model(Path(text))


def choose_model(path: Path) -> list[str]:
    """The overrides for a biLM's directory or weight file, or for the directory of a transformers model."""
    directory = path if path.is_dir() else path.parent
    is_bilm = any(directory.glob("*options.json"))
    is_transformer = (directory / TRANSFORMER_CONFIG).is_file()
    if not path.exists() or not (is_bilm or is_transformer):
        raise DataMissingError(
            f"{path}: no such model; expected a directory with options.json and weights (a biLM), "
            f"or with {TRANSFORMER_CONFIG} (a transformers model){_hint(path)}"
        )
    if is_bilm:
        return ["encoder=model", f"encoder.directory={spell_text(str(path))}"]
    return ["encoder=transformer", f"encoder.model={spell_text(str(directory))}"]


def _hint(path: Path) -> str:
    """What may have been meant: a model of the Hub, or one of the directories below."""
    if HUB_ID.fullmatch(str(path)) and not path.exists():
        return f'; for a model of the Hub: load_encoder("transformer", model="{path}", revision="COMMIT")'
    marks = [*path.glob("*/*options.json"), *path.glob(f"*/{TRANSFORMER_CONFIG}")]
    below = sorted({mark.parent.name for mark in marks})
    return f"; there are models below it: {', '.join(below)}" if below else ""


def spell_settings(settings: Mapping[str, Any]) -> list[str]:
    """Settings as overrides; the plug-in says which do not exist."""
    try:
        return [f"++encoder.{key}={spell_value(value)}" for key, value in settings.items()]
    except TypeError as error:
        raise UsageError(f"expected settings of numbers, texts and lists, got {settings} ({error})") from None


def spell_value(value: Any) -> str:
    """A Python value in the grammar of overrides."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{spell_value(one)}" for key, one in value.items()) + "}"
    if isinstance(value, str | Path):
        return spell_text(str(value))
    if isinstance(value, Iterable):
        return "[" + ",".join(map(spell_value, value)) + "]"
    return json.dumps(value)  # a number, true, false or null


def spell_text(text: str) -> str:
    """A text in the grammar of overrides, in which ${...} would be the value of another key."""
    return quote(text.replace("${", "\\${"))
