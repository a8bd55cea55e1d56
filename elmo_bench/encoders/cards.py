"""Cards of encoders that only PyTorch can describe, kept so that a run that is done need not import it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from pydantic import TypeAdapter

from elmo_bench.encoders.protocol import EncoderCard, EncoderContext
from elmo_bench.files import read_kept, write_kept
from elmo_bench.hashing import hash_value

CARDS = "cards"  # below paths.cache: one file per fingerprint


def keep_card(context: EncoderContext, content: object, describe: Callable[[], EncoderCard]) -> EncoderCard:
    """The card that `describe` makes, once for the same content (hashes and settings that decide it)."""
    path, adapter = context.paths.cache / CARDS / hash_value(content), TypeAdapter(EncoderCard)
    kept = read_kept(path)
    if kept is not None:
        return replace(adapter.validate_json(kept), name=context.name)
    card = describe()
    with suppress(OSError):  # a cache that cannot be written costs the next run a second, and not this one
        path.parent.mkdir(parents=True, exist_ok=True)
        write_kept(path, adapter.dump_json(card))
    return card
