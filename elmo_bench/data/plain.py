"""Convert plain text to a format that needs labels, with meaningless labels."""

from __future__ import annotations

from pathlib import Path

from elmo_bench.data.columns import DOCUMENT_START
from elmo_bench.data.conllu import COLUMNS
from elmo_bench.data.lines import fault, read_lines, require_any
from elmo_bench.types import UsageError, Words

LABELLABLE = ("columns", "conllu")


def label_blindly(text: Path, format_name: str, target: Path) -> int:
    """One tokenised sentence per line as sentences of the format; says how many empty lines are left out."""
    if format_name not in LABELLABLE:
        raise UsageError(
            f"--text: {text} cannot be converted to {format_name}; --text serves tasks that "
            f"read {' or '.join(LABELLABLE)}"
        )
    lines = []
    for number, line in read_lines(text):
        lines.append(tuple(line.split()))
        if format_name == "columns" and DOCUMENT_START in lines[-1]:
            raise fault(
                text, number, "words", DOCUMENT_START, "it separates documents in column files; remove it"
            )
    written = [_rows(words, format_name) for words in require_any(text, filter(None, lines), "sentence")]
    target.write_text("\n".join(written), encoding="utf-8")
    return len(lines) - len(written)


def _rows(words: Words, format_name: str) -> str:
    if format_name == "columns":
        return "".join(f"{word} O\n" for word in words)
    rows = []
    for number, word in enumerate(words, start=1):
        cells = [str(number), word, "_", "X", "X", *["_"] * (COLUMNS - 5)]
        rows.append("\t".join(cells) + "\n")
    return "".join(rows)
