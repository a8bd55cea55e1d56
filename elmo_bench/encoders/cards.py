"""Cards of encoders that only PyTorch can describe, kept so that a run that is done need not import it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace

from pydantic import TypeAdapter, ValidationError

from elmo_bench.encoders.protocol import EncoderCard, EncoderContext
from elmo_bench.files import read_kept, write_kept
from elmo_bench.hashing import hash_value
from elmo_bench.types import DataError

CARDS = "cards"  # below paths.cache: one file for each content that was described


def keep_card(
    context: EncoderContext, name_content: Callable[[], object], describe: Callable[[], EncoderCard]
) -> EncoderCard:
    """The card that `describe` makes of some content, once for the same content.

    `name_content` gives the hashes and settings that decide the card.
    """
    content = name_content()
    named = hash_value([content, [field.name for field in fields(EncoderCard)]])
    path, adapter = context.paths.cache / CARDS / named, TypeAdapter(EncoderCard)
    kept = read_kept(path)
    if kept is not None:
        with suppress(ValidationError):  # of a file of somebody else's making
            return replace(adapter.validate_json(kept), name=context.name)
    card = describe()
    if name_content() == content:  # else somebody wrote to a file while it was read
        with suppress(OSError):  # a cache that cannot be written costs a second of the next run
            write_kept(path, adapter.dump_json(card))
    return card


def refuse_changed(card: EncoderCard, fingerprint: str) -> None:
    """Refuse an encoder whose files are no longer those that its card describes."""
    if fingerprint != card.fingerprint:
        raise DataError(f"encoder {card.name}: its files changed while the run read them; run it again")
