"""Write the results of the published records into README.md and docs/gains.svg.

python docs/fill_readme.py

Each block of results in the README is the output of a command that stands there; tests compare them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
BLOCKS = {  # what follows `python -m elmo_bench`: the block that it prints, from its first line to its last
    "findings --source open --markdown": r"\| finding \|.*?^\d+ holds[^\n]*\n",
    "summary --source open --gains --figure docs/gains.svg": r"\| task \(corpus\) \|.*?\n(?=\n)",
    "summary --source sample --task ner": r"ner on world .*?(?=```)",
}


def main() -> None:
    """Replace every block by what its command prints now."""
    page = PROJECT / "README.md"
    text = page.read_text(encoding="utf-8")
    for words, block in BLOCKS.items():
        command = [sys.executable, "-m", "elmo_bench", *words.split()]
        output = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True).stdout
        found = re.compile(rf"^{block}", re.MULTILINE | re.DOTALL).findall(text)
        if len(found) != 1:
            begin = block.partition(".*")[0]
            raise SystemExit(f"{page}: expected one block that begins with {begin}, got {len(found)}")
        text = text.replace(found[0], output.strip() + "\n")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
