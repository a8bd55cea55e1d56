"""The tokeniser of all tasks: Penn Treebank style on raw text, tokenised text unchanged, offsets preserved.

The conventions are those of the language model's text: straight quotes, `--` and `...`, no treebank escapes,
clitics split off (do n't, dog 's, can not), hyphenated words and abbreviations not split.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from elmo_bench.types import UsageError, Words

ESCAPES = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
    "-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}",
    "``": '"', "''": '"', "`": "'", "\\/": "/", "\\*": "*", "…": "...", "—": "--", "–": "-",
    "/.": ".", "/?": "?", "/-": "-",  # punctuation in OntoNotes' speech transcripts
}  # fmt: skip
INSIDE_WORDS = (("\\/", "/"), ("\\*", "*"))
STRAIGHT = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "`": "'"})

CHUNK = re.compile(r"\S+")
# '90s, 's, 'twas
SHORTENED = re.compile(r"['’](?:\d\ds?|s|re|ve|ll|d|m|em|til|cause|tis|twas|n|t)(?!\w)", re.IGNORECASE)
WHOLE = re.compile(
    SHORTENED.pattern
    + r"""
    | n['’]t                                       # once parted from its verb
    | -[LR][RSC]B-                                 # treebank escapes
    | (?:https?://|www\.)[^\s"<>“”„«»()]*[\w/] | [\w.+-]+@\w[\w-]*(?:\.[\w-]+)+   # addresses
    | \d[\d.,]*\.\d+% | [:;]-?[()DPp] | \.\.+ | --+ | ``|'' | \\[/*]""",
    re.VERBOSE | re.IGNORECASE,
)
OPENING = re.compile(r"``|''|[\"“”„«»'‘’`(\[{<$£€¥#¿¡*=~|]|[–—…]|--+|\.\.\.+|@(?=\W|$)")
CLOSING = re.compile(r"(?:``|''|[,;:?!\"“”„«»'‘’`)\]}>%*=~|]|[–—…]|--+|\.\.+)$")
INNER = re.compile(
    r"""--+ | \.\.\.+ | [–—…"“”„«»;?!()\[\]{}<>=~|] | `` | ''
    | (?<=\D),(?=\S) | (?<=\S),(?=\D)            # not the comma of 1,000
    | (?<=[^\W\d]):(?=[^\W\d])                  # nor the colon of 10:30""",
    re.VERBOSE,
)
REMEMBERED = 1 << 15  # chunks or words; some 10 MB
LONGEST_SIGN = 32  # longer runs of dots or dashes are split, to limit the cost of malicious input
CLITIC = re.compile(r"(?<=\w)(?:n['’]t|['’](?:s|re|ve|ll|d|m))$", re.IGNORECASE)
CANNOT = re.compile(r"can(?=not$)", re.IGNORECASE)
ABBREVIATION = re.compile(
    r"""(?:[^\W\d_]\.)+[^\W\d_]\.                 # U.S., a.m.
    | (?:mr|mrs|ms|dr|prof|st|mt|jr|sr|rev|hon|gen|col|maj|capt|cpt|lt|sgt|adm|rep|sen|gov|pres|supt|messrs
    | mme|inc|ltd|co|corp|bros|vs|etc|al|ca|cf|approx|dept|est|ave|blvd|rd|rt|ft|ph\.d
    | jan|feb|apr|aug|sept|sep|oct|nov|dec)\.""",
    re.VERBOSE | re.IGNORECASE,
)
BEFORE_NUMBER = re.compile(r"(?:no|nos|fig|figs|vol|vols|ch|sec|eq|pp|p|art|op)\.", re.IGNORECASE)
INITIAL = re.compile(r"[^\W\d_]\.")


def name_span(words: Words, start: int, end: int) -> str:
    """Tokens from `start` up to but not including `end`, and where they stand, counted from 1."""
    place = f"{start + 1}" if end - start == 1 else f"{start + 1}-{end}"
    return f"{' '.join(words[start:end])} [{place}]"


class Token(NamedTuple):
    """A word as the models read it, and its offsets in the original text."""

    text: str
    start: int
    end: int


def find_tokens(text: str) -> tuple[Token, ...]:
    """Words of raw or tokenised text; `text[start:end]` is the original form of each, with escapes."""
    return tuple(
        Token(word, shift + start, shift + end)
        for shift, tokens in _tokens_by_chunk(text)
        for word, start, end in tokens
    )


def _tokens_by_chunk(text: str) -> Iterator[tuple[int, tuple[Token, ...]]]:
    """The offset of every chunk between blanks, and its tokens."""
    chunks = list(CHUNK.finditer(text))
    for place, chunk in enumerate(chunks, start=1):
        following = chunks[place].group()[:1] if place < len(chunks) else ""
        yield chunk.start(), _tokens_of_chunk(chunk.group(), following)


@lru_cache(maxsize=REMEMBERED)
def _tokens_of_chunk(chunk: str, following: str) -> tuple[Token, ...]:
    """The tokens of a text without blanks; of what follows only the first character matters.

    Most chunks of a corpus occur many times, so their tokens are remembered.
    """
    boundaries = _split(chunk, 0, len(chunk), following)
    return tuple(Token(undo_escape(chunk[start:end]), start, end) for start, end in boundaries)


def tokenise(text: str) -> Words:
    """The words of raw or tokenised text."""
    if not isinstance(text, str):
        raise UsageError(f"expected a text, got {text!r}")
    return tuple(token.text for _, tokens in _tokens_by_chunk(text) for token in tokens)


@lru_cache(maxsize=REMEMBERED)
def undo_escape(word: str) -> str:
    """A word without treebank escapes and typographic quotes: `-LRB-` is (, `and\\/or` is and/or."""
    known = ESCAPES.get(word)
    if known is not None:
        return known
    for escaped, plain in INSIDE_WORDS:
        word = word.replace(escaped, plain)
    return word.translate(STRAIGHT)


def undo_escapes(words: Iterable[str]) -> Words:
    """Words of a treebank in the conventions of the language model and the word vectors."""
    return tuple(map(undo_escape, words))


def _split(chunk: str, start: int, end: int, following: str) -> Iterator[tuple[int, int]]:
    """Boundaries of the tokens between two offsets of a text without blanks."""
    while start < end and not WHOLE.fullmatch(chunk, start, end):
        match = OPENING.match(chunk, start, end)
        if not match or SHORTENED.match(chunk, start, end):
            break
        yield match.span()
        start = match.end()
    closing: list[tuple[int, int]] = []
    while start < end and not WHOLE.fullmatch(chunk, start, end):
        cut = _closing(chunk, start, end, following)
        if cut == end:
            break
        closing.append((cut, end))
        end = cut
    if start < end:
        yield from _split_inside(chunk, start, end)
    yield from reversed(closing)


def _closing(chunk: str, start: int, end: int, following: str) -> int:
    """The start of the last token of a chunk, if it is punctuation; else `end`."""
    match = CLOSING.search(chunk, max(start, end - LONGEST_SIGN), end)
    if match:
        return match.start()
    if chunk[end - 1] == "." and end - start > 1 and not _is_abbreviation(chunk[start:end], following):
        return end - 1
    return end


def _is_abbreviation(word: str, following: str) -> bool:
    if ABBREVIATION.fullmatch(word):
        return True
    if BEFORE_NUMBER.fullmatch(word):
        return following[:1].isdigit()
    # "J. Smith", but "plan B." at the end
    return bool(INITIAL.fullmatch(word)) and word[0].isupper() and following != ""


def _split_inside(chunk: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Split the text between opening and closing punctuation at dashes, brackets and clitics."""
    if WHOLE.fullmatch(chunk, start, end):
        yield start, end
        return
    signs = [match.span() for match in INNER.finditer(chunk, start, end)]
    if not signs:
        yield from _split_word(chunk, start, end)
        return
    for first, last in signs:
        yield from _split(chunk, start, first, following=chunk[first:last])
        yield first, last
        start = last
    yield from _split(chunk, start, end, following="")


def _split_word(chunk: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    ends = [end]
    while match := CLITIC.search(chunk, start + 1, ends[-1]):
        ends.append(match.start())
    if match := CANNOT.match(chunk, start, ends[-1]):
        ends.append(match.end())
    for cut in reversed(ends):
        yield start, cut
        start = cut
