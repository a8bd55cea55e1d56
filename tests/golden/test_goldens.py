"""Every golden file is read by some test, and says where it comes from."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def sources() -> str:
    return "\n".join(
        path.read_text() for path in HERE.parent.rglob("test_*.py") if path != Path(__file__).resolve()
    )


def test_no_golden_file_is_an_orphan() -> None:
    files = sorted(
        path.name for path in HERE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")
    )
    read, described = sources(), (HERE / "README.md").read_text()
    files.remove("README.md")
    assert files
    assert [name for name in files if f'"{name}"' not in read] == []
    assert [name for name in files if f"{name}`" not in described] == []


def test_no_shared_golden_is_an_orphan(shared: Path) -> None:
    read = sources()
    folders = sorted(path.name for path in (shared / "goldens").iterdir() if path.is_dir())
    assert [name for name in folders if f'"goldens" / "{name}"' not in read] == []
