"""Models of the Hub: a fixed commit, from the cache if it is there, and a clear answer without a network."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from elmo_bench.types import DataMissingError, UsageError
from tests.support.tiny_transformers import card_of, save_tiny, settings_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "somebody/bert"


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("bert"), "bert")


class Hub:
    """Stands for `snapshot_download`: a cache, and a Hub that has one model or cannot be reached."""

    def __init__(self, cached: Path | None, online: Path | None) -> None:
        self.cached, self.online = cached, online
        self.asked: list[dict[str, Any]] = []

    def __call__(self, name: str, **options: Any) -> str:
        assert (name, options["revision"]) == (NAME, COMMIT)
        if options["local_files_only"]:
            if self.cached is None:
                raise huggingface_hub.errors.LocalEntryNotFoundError("not cached")
            return str(self.cached)
        self.asked.append(options)
        if self.online is None:
            raise huggingface_hub.errors.LocalEntryNotFoundError("Got: ConnectError\nmore")
        return str(self.online)


def serve(monkeypatch: pytest.MonkeyPatch, cached: Path | None, online: Path | None) -> Hub:
    hub = Hub(cached, online)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub)
    return hub


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory without a directory of the model's name."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("revision", [None, "main", "v1.0", COMMIT[:12], COMMIT.upper()])
def test_a_revision_that_can_move_is_refused(revision: str | None) -> None:
    with pytest.raises(UsageError, match=rf"encoder\.model={NAME}: .* 40 hexadecimal digits, got {revision}"):
        card_of(settings_of(Path(NAME), revision=revision))


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("name", ["../models/absent", "/absent/model", "absent", "a/b/c", "~/absent"])
def test_what_cannot_be_on_the_hub_is_a_missing_directory(name: str) -> None:
    with pytest.raises(DataMissingError, match=rf"^{name}: no such directory \(encoder\.model\)"):
        card_of(settings_of(Path(name), model=name, revision=COMMIT))


def test_a_directory_has_no_revision(bert: Path) -> None:
    with pytest.raises(UsageError, match=rf"encoder\.revision={COMMIT}: .* is a directory"):
        card_of(settings_of(bert, revision=COMMIT))


@pytest.mark.usefixtures("elsewhere")
def test_a_model_is_the_same_on_the_hub_and_in_a_directory(
    bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = serve(monkeypatch, cached=None, online=bert)
    assert card_of(settings_of(Path(NAME), revision=COMMIT)) == card_of(settings_of(bert))
    (options,) = hub.asked
    assert not any(pattern.endswith((".bin", ".py", "*")) for pattern in options["allow_patterns"])


@pytest.mark.usefixtures("elsewhere")
def test_a_commit_in_the_cache_needs_no_network(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = serve(monkeypatch, cached=bert, online=None)
    card_of(settings_of(Path(NAME), revision=COMMIT))
    assert hub.asked == []


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("absent", ["tokenizer_config.json", "model.safetensors"])
def test_an_incomplete_cache_is_completed(
    absent: str, bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = shutil.copytree(bert, tmp_path / "partial")
    (partial / absent).unlink()
    hub = serve(monkeypatch, cached=partial, online=bert)
    card_of(settings_of(Path(NAME), revision=COMMIT))
    assert len(hub.asked) == 1


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(("offline", "reason"), [(True, "local_files_only=true"), (False, "ConnectError")])
def test_without_a_network_it_says_what_to_do(
    offline: bool, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = serve(monkeypatch, cached=None, online=None)
    todo = rf"not in the cache .*{reason}\).* hf download {NAME} --revision {COMMIT} --local-dir DIR"
    with pytest.raises(DataMissingError, match=todo) as caught:
        card_of(settings_of(Path(NAME), revision=COMMIT, local_files_only=offline))
    assert "\n" not in str(caught.value)
    assert bool(hub.asked) is not offline


@pytest.mark.usefixtures("elsewhere")
def test_what_lacks_in_the_cache_is_named_if_the_hub_must_not_be_asked(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = shutil.copytree(bert, tmp_path / "partial")
    (partial / "model.safetensors").unlink()
    serve(monkeypatch, cached=partial, online=bert)
    with pytest.raises(DataMissingError, match=r"model\.safetensors: no such file"):
        card_of(settings_of(Path(NAME), revision=COMMIT, local_files_only=True))
