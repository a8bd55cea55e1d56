"""Checkpoints that are either complete and verified, or absent."""

from __future__ import annotations

import re
from pathlib import Path

from elmo_bench.files import is_plain_file, move_into_place, name_file, remove
from elmo_bench.hashing import hash_file
from elmo_bench.training.lightning import pl
from elmo_bench.types import Log

_NAME = re.compile(r"step-(\d{9})-([0-9a-f]{16})\.ckpt")


class CheckpointDirectory:
    """The newest state of one training; a file's name contains the hash of its content."""

    def __init__(self, directory: Path, log: Log) -> None:
        self._directory = directory
        self._log = log

    def save(self, trainer: pl.Trainer) -> None:
        """Write the trainer's state, then drop older ones."""
        self._directory.mkdir(parents=True, exist_ok=True)
        partial = self._directory / ".writing.tmp"
        if trainer.is_global_zero:
            remove(partial)  # what a killed process has left, or a directory or a link in its place
        try:
            trainer.save_checkpoint(partial)  # collective: all processes take part
        except OSError as error:  # a full disk
            remove(partial)
            final = self._directory / f"step-{trainer.global_step:09d}.ckpt"
            raise name_file(error, final) from error
        if not trainer.is_global_zero:
            return  # the first process writes for all
        name = f"step-{trainer.global_step:09d}-{_hash(partial)}.ckpt"
        path = self._directory / name
        move_into_place(partial, path)
        for other in self._directory.glob("step-*.ckpt"):
            if other != path:
                remove(other)

    def newest(self) -> Path | None:
        """The newest intact checkpoint; damaged ones are skipped."""
        for path in sorted(self._directory.glob("step-*.ckpt"), reverse=True):
            match = _NAME.fullmatch(path.name)
            if match and is_plain_file(path) and _hash(path) == match[2]:
                return path
            self._log(f"warning: {path} is damaged and is skipped; training resumes from an earlier state")
            remove(path.with_suffix(".damaged"))
            path.replace(path.with_suffix(".damaged"))
        return None


def _hash(path: Path) -> str:
    return hash_file(path)[:16]
