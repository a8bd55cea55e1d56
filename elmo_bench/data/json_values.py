"""JSON files with type checks: an error names the path of the value in the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from elmo_bench.data.lines import fault, read_lines, shown
from elmo_bench.types import DataError

NAMES = {dict: "an object", list: "a list", str: "a string", int: "a number"}


class JsonValue:
    """A value of a JSON file, with its line and its path in the JSON text."""

    def __init__(self, path: Path, line: int, value: Any, json_path: str = "") -> None:
        self.path, self.line, self.value, self.json_path = path, line, value, json_path

    def error(self, expected: str, got: str, remedy: str = "") -> DataError:
        """The error for this value."""
        return fault(self.path, self.line, expected, f"{got} at {self.json_path or 'the top'}", remedy)

    def __getitem__(self, key: str) -> JsonValue:
        """A required member of an object."""
        if not isinstance(self.value, dict):
            raise self.error(NAMES[dict], shown(json.dumps(self.value)))
        if key not in self.value:
            keys = ", ".join(self.value) or "none"
            raise self.error(f"the key {key!r}", f"the keys {shown(keys)}")
        return JsonValue(self.path, self.line, self.value[key], f"{self.json_path}.{key}".lstrip("."))

    def items(self) -> list[JsonValue]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self.error(NAMES[list], shown(json.dumps(self.value)))
        return [
            JsonValue(self.path, self.line, value, f"{self.json_path}[{index}]")
            for index, value in enumerate(self.value)
        ]

    def text(self) -> str:
        """A string without lone surrogates, which no encoding can write."""
        if not isinstance(self.value, str):
            raise self.error(NAMES[str], shown(json.dumps(self.value)))
        try:
            self.value.encode()
        except UnicodeEncodeError as error:
            raise self.error("text", f"half of a character pair ({error.reason})") from error
        return self.value

    def number(self) -> int:
        """A whole number."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self.error(NAMES[int], shown(json.dumps(self.value)))
        return self.value


def read_json(path: Path) -> JsonValue:
    """The value that a JSON file holds."""
    return parse_json(path, 1, "\n".join(line for _, line in read_lines(path)))


def parse_json(path: Path, first_line: int, text: str) -> JsonValue:
    """The value in a text that starts on the given line of a file."""
    try:
        return JsonValue(path, first_line, json.loads(text))
    except json.JSONDecodeError as error:
        near = shown(text[error.pos : error.pos + 20]) if error.pos < len(text) else "the end of the text"
        line = first_line + error.lineno - 1
        raise fault(path, line, "JSON", f"{near} at column {error.colno} ({error.msg})") from error
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number with too many digits
        raise fault(path, first_line, "JSON of a sane size", str(error)) from error
