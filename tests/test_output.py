"""Standard output that lacks characters, and a progress bar in a log file."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from elmo_bench.output import progress_bar


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_log_file_has_a_bar_at_the_beginning_and_at_the_end(
    is_terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    clock = iter(range(10_000))
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock) / 5)  # 0.2 s pass at every look at the clock
    with progress_bar(100, "tokens", "reading") as bar:
        for _ in range(100):
            bar.update()
    shown = [line for line in capsys.readouterr().err.split("\r") if "reading" in line]
    assert "100/100" in shown[-1]
    assert (len(shown) <= 2) is (not is_terminal)


def test_what_standard_output_lacks_is_escaped_so_that_json_stays_json() -> None:
    row = {"words": ["Zürich", "λ", "🙂", 'a "b"']}
    program = (
        "import json\n"
        "from elmo_bench.output import name_output\n"
        f"with name_output(): print(json.dumps({row!a}, ensure_ascii=False))"
    )
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    assert json.loads(printed.decode("ascii")) == row
