"""Chunks written as tags: the schemes IOB1, IOB2, BIOUL and BIOES, recognised and converted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

Scheme = Literal["IOB1", "IOB2", "BIOUL", "BIOES"]
OUTSIDE = "O"


class Chunk(NamedTuple):
    """A labelled span of tokens, from `start` up to but not including `end`."""

    label: str
    start: int
    end: int


class TagFault(NamedTuple):
    """The position where a tag sequence breaks its scheme, and the error."""

    position: int
    expected: str
    got: str


def split_tag(tag: str) -> tuple[str, str]:
    """Prefix and label at the first hyphen, as conlleval splits; the label may hold more hyphens."""
    prefix, _, label = tag.partition("-")
    return prefix, label


def find_fault(tags: Sequence[str], scheme: Scheme) -> TagFault | None:
    """The first position where a tag sequence is not legal in a scheme."""
    prefixes = "BI" if scheme.startswith("IOB") else scheme.replace("O", "")
    may_follow = _RULES[scheme]
    before = ("O", "")
    for position, tag in enumerate((*tags, OUTSIDE)):
        prefix, label = after = split_tag(tag)
        if tag != OUTSIDE and not (label and len(prefix) == 1 and prefix in prefixes):
            return TagFault(
                position, f"O or one of {', '.join(prefixes)} with a type, as in B-PER", repr(tag)
            )
        if not may_follow(before, after):
            if position < len(tags):
                got = f"{tag} after {tags[position - 1] if position else 'the sentence start'}"
                return TagFault(position, f"a legal {scheme} sequence", got)
            return TagFault(position - 1, f"a legal {scheme} sequence", f"{tags[-1]} at the sentence end")
        before = after
    return None


def _may_follow_iob1(before: tuple[str, str], after: tuple[str, str]) -> bool:
    # B occurs only directly after a chunk of the same type (Ramshaw and Marcus 1995)
    return after[0] != "B" or before[1] == after[1]


def _may_follow_iob2(before: tuple[str, str], after: tuple[str, str]) -> bool:
    return after[0] != "I" or before[1] == after[1]


def _may_follow_closed(before: tuple[str, str], after: tuple[str, str]) -> bool:
    is_open = before[0] in ("B", "I")
    goes_on = after[0] in ("I", "L", "E")
    return is_open == goes_on and (not goes_on or before[1] == after[1])


_RULES: dict[Scheme, Callable[[tuple[str, str], tuple[str, str]], bool]] = {
    "IOB1": _may_follow_iob1,
    "IOB2": _may_follow_iob2,
    "BIOUL": _may_follow_closed,
    "BIOES": _may_follow_closed,
}


def recognise_scheme(sequences: Iterable[Sequence[str]]) -> tuple[Scheme, int, TagFault | None]:
    """The scheme that all sequences obey; else the one that is obeyed longest, and where it breaks.

    The middle value is the index of the breaking sequence. Any sequence with a chunk obeys at most one
    scheme; files without chunks count as IOB2.
    """
    alive: list[Scheme] = ["IOB2", "IOB1", "BIOUL", "BIOES"]
    for index, tags in enumerate(sequences):
        faults = {scheme: found for scheme in alive if (found := find_fault(tags, scheme))}
        legal = [scheme for scheme in alive if scheme not in faults]
        if not legal:
            furthest = max(alive, key=lambda scheme: faults[scheme].position)
            return furthest, index, faults[furthest]
        alive = legal
    return alive[0], 0, None


def chunks_of(tags: Sequence[str]) -> tuple[Chunk, ...]:
    """Chunks as conlleval counts them, for any scheme and for illegal sequences.

    A chunk opens at B, U or S, at anything but O after O or after a closed chunk, and when the type changes.
    """
    return tuple(_open_and_close(tags))


def _open_and_close(tags: Sequence[str]) -> Iterator[Chunk]:
    start, label = -1, ""  # start is -1 outside of chunks
    for position, tag in enumerate(tags):
        prefix, new_label = split_tag(tag)
        if start >= 0 and (prefix in ("O", "B", "U", "S") or new_label != label):
            yield Chunk(label, start, position)
            start = -1
        if prefix == OUTSIDE:
            continue
        if start < 0:
            start, label = position, new_label
        if prefix in ("E", "L", "U", "S"):
            yield Chunk(label, start, position + 1)
            start = -1
    if start >= 0:
        yield Chunk(label, start, len(tags))


def tags_of(chunks: Iterable[Chunk], length: int, scheme: Scheme) -> tuple[str, ...]:
    """Tags of a scheme for chunks that do not overlap."""
    tags = [OUTSIDE] * length
    last_end, last_label = -1, ""
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        is_touching = last_end == chunk.start and last_label == chunk.label
        prefixes = _prefixes(chunk.end - chunk.start, scheme, is_touching)
        tags[chunk.start : chunk.end] = [f"{prefix}-{chunk.label}" for prefix in prefixes]
        last_end, last_label = chunk.end, chunk.label
    return tuple(tags)


def _prefixes(length: int, scheme: Scheme, is_touching: bool) -> str:
    if scheme == "IOB1":
        return ("B" if is_touching else "I") + "I" * (length - 1)
    if scheme == "IOB2":
        return "B" + "I" * (length - 1)
    single, last = ("U", "L") if scheme == "BIOUL" else ("S", "E")
    return single if length == 1 else "B" + "I" * (length - 2) + last


def convert_tags(tags: Sequence[str], scheme: Scheme) -> tuple[str, ...]:
    """The same chunks in another scheme."""
    return tags_of(chunks_of(tags), len(tags), scheme)
