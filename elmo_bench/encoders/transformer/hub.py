"""From `encoder.model` to files: those of a directory, or of a fixed commit of a model on the Hub."""

from __future__ import annotations

import re
from pathlib import Path

from elmo_bench.encoders.transformer.files import READ, TOKENIZER_SETTINGS, ModelFiles, read_files
from elmo_bench.encoders.transformer.packages import import_package, quiet
from elmo_bench.types import DataMissingError, Log, UsageError

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")  # owner/name
COMMIT = re.compile(r"[0-9a-f]{40}")


def find_files(model: str, revision: str | None, local_files_only: bool, log: Log) -> ModelFiles:
    """The files of a model."""
    directory = Path(model).expanduser()
    if directory.is_dir():
        if revision is not None:
            raise UsageError(
                f"encoder.revision={revision}: {model} is a directory, which has no revisions; leave it out"
            )
        return read_files(directory, model)
    if directory.exists() or not HUB_ID.fullmatch(model):
        raise DataMissingError(
            f"{model}: no such directory (encoder.model); a model on the Hub is called OWNER/NAME"
        )
    if revision is None or not COMMIT.fullmatch(revision):
        raise UsageError(
            f"encoder.model={model}: no such directory; on the Hub expected encoder.revision=SHA, "
            f"a commit in 40 hexadecimal digits, got {revision}. Branches and tags move, and results would "
            f"move with them; the commits are at https://huggingface.co/{model}/commits/main"
        )
    cached = _from_cache(model, revision)
    if cached and (local_files_only or (cached / TOKENIZER_SETTINGS).is_file()):
        try:
            return read_files(cached, model)
        except DataMissingError:  # other programs leave some files out
            if local_files_only:
                raise
    if local_files_only:
        raise _unreachable(model, revision, "encoder.local_files_only=true")
    log(f"fetching {model} at {revision} from the Hub")
    return read_files(_download(model, revision), model)


def _from_cache(model: str, revision: str) -> Path | None:
    """What the cache of huggingface_hub has of a commit; a commit never changes, so the Hub is not asked."""
    with quiet():
        try:
            return Path(_snapshot(model, revision, local_files_only=True))
        except FileNotFoundError:
            return None


def _download(model: str, revision: str) -> Path:
    with quiet():
        try:
            return Path(_snapshot(model, revision, local_files_only=False))
        except (OSError, ValueError) as error:  # no network, no such model, no such commit, no permission
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise _unreachable(model, revision, reason) from error


def _snapshot(model: str, revision: str, local_files_only: bool) -> str:
    hub = import_package("huggingface_hub")
    path: str = hub.snapshot_download(
        model, revision=revision, allow_patterns=list(READ), local_files_only=local_files_only
    )
    return path


def _unreachable(model: str, revision: str, reason: str) -> DataMissingError:
    return DataMissingError(
        f"encoder.model={model} encoder.revision={revision}: not in the cache of the Hub and not fetched "
        f"({reason}). On a machine with a network: hf download {model} --revision {revision} "
        "--local-dir DIR; then encoder.model=DIR without encoder.revision"
    )
