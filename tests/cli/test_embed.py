"""`embed` with any encoder, in several processes and in parts: always the bytes of one process."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread

import h5py
import numpy as np
import pytest
from safetensors.numpy import load_file

from elmo_bench import directories, load_encoder
from elmo_bench.cli import embed, embed_workers
from elmo_bench.cli.embed import Part, cut_blocks
from elmo_bench.cli.main import main
from elmo_bench.cli.vector_files import VectorFile
from elmo_bench.files import immediate_lock
from tests.conftest import PROJECT
from tests.support.damage import Damage, become_dangling, delete, empty, flip, truncate
from tests.support.processes import PROCESSES, start_server

MODULE = """
import os
import signal
import time
from pathlib import Path

import numpy as np
from pydantic.dataclasses import dataclass

from elmo_bench.encoders.protocol import EncoderCard, EncoderPlugin, FoundEncoder
from elmo_bench.types import UsageError


@dataclass(frozen=True)
class Letters(EncoderPlugin):
    marks: Path  # a file here says that something has happened once

    def find(self, context):
        card = EncoderCard(context.name, self.make_fingerprint("letters", without={"marks"}), 2, 3)
        return FoundEncoder(card, lambda: Loaded(self, card))


class Loaded:
    def __init__(self, settings, card):
        self.marks = settings.marks
        self.fingerprint, self.layer_count, self.dim = card.fingerprint, card.layer_count, card.dim

    def layers(self, sentences):
        time.sleep(0.02)  # so that every worker has something to do
        return [self.encode(words) for words in sentences]

    def encode(self, words):
        for word in words:
            if word == "die" and self.is_first(word):
                os.kill(os.getpid(), signal.SIGKILL)
            if word == "sleep" and self.is_first(word):
                time.sleep(600)
            if word == "fail" and self.is_first(word):
                raise UsageError("the encoder does not like this sentence")
            if word == "wait":  # until another process says "release"
                (self.marks / "waiting").touch()
                self.wait_for("go")
            if word == "release":  # and until the waiting process has ended
                (self.marks / "go").touch()
                self.wait_for("ended")
        rows = [[len(word), ord(word[0]), ord(word[-1])] for word in words]
        first = np.array(rows, np.float32).reshape(len(words), 3)
        return np.stack([first, first.cumsum(0)])

    def wait_for(self, name):
        while not (self.marks / name).exists():
            time.sleep(0.01)

    def is_first(self, word):
        mark = self.marks / word
        if mark.exists():
            return False
        mark.touch()
        return True
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder outside of the package."""
    own = tmp_path_factory.mktemp("own")
    (own / "encoder").mkdir()
    marks = own / "marks"
    marks.mkdir()
    (own / "encoder" / "letters.yaml").write_text(
        f"name: letters\nplugin: letters_to_embed.Letters\nmarks: {marks}\n"
    )
    (own / "letters_to_embed.py").write_text(MODULE)
    return own


@pytest.fixture(autouse=True)
def surroundings(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "_own", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(embed, "TOKENS_AT_ONCE", 12)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for mark in (own / "marks").iterdir():
        mark.unlink()


@pytest.fixture
def quick_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers forked after their imports; the test of workers of a biLM has those that users have."""
    start_server()
    monkeypatch.setattr(embed_workers, "PROCESSES", PROCESSES)


def write(folder: Path, sentences: Sequence[str]) -> Path:
    path = folder / "sentences.txt"
    path.write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    return path


def corpus(special: str = "") -> list[str]:
    sentences = [" ".join(f"w{row}" for _ in range(row % 7)) for row in range(60)]
    return [*sentences[:30], special, *sentences[30:]]


def run(own: Path, source: Path, target: Path, *words: str) -> int:
    return main(["embed", "--config-dir", str(own), str(source), str(target), "encoder=letters", *words])


def one_process(own: Path, source: Path, name: str = "out.hdf5") -> bytes:
    """What a single process writes that is never stopped."""
    for word in ("die", "sleep", "fail"):
        (own / "marks" / word).touch()
    folder = source.parent / "alone"
    folder.mkdir(exist_ok=True)
    assert run(own, source, folder / name) == 0
    for word in ("die", "sleep", "fail"):
        (own / "marks" / word).unlink()
    return (folder / name).read_bytes()


def test_any_encoder_with_its_settings_is_chosen_as_for_runs(own: Path, tmp_path: Path) -> None:
    source = write(tmp_path, ["a bc", "", "d"])
    assert run(own, source, tmp_path / "out.safetensors") == 0
    found = load_file(tmp_path / "out.safetensors")
    expected = load_encoder("letters", config_dir=own).embed([["a", "bc"], [], ["d"]])
    assert [found[str(line)].tolist() for line in range(3)] == [array.tolist() for array in expected]


@pytest.mark.usefixtures("quick_workers")
@pytest.mark.parametrize("name", ["out.hdf5", "out.safetensors"])
def test_workers_write_the_bytes_of_one_process(own: Path, tmp_path: Path, name: str) -> None:
    source = write(tmp_path, corpus())
    assert run(own, source, tmp_path / name, "--workers", "3") == 0
    assert (tmp_path / name).read_bytes() == one_process(own, source, name)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["alone", name, "sentences.txt"])


def test_workers_of_a_bilm_write_the_bytes_of_one_process(tmp_path: Path) -> None:
    source = write(tmp_path, corpus())
    words = [str(source), "encoder=untrained", "bilm@encoder.bilm=tiny", f"paths.cache={tmp_path}"]
    for name, more in (("one.hdf5", []), ("two.hdf5", ["--workers", "2"])):
        assert main(["embed", words[0], str(tmp_path / name), *words[1:], *more]) == 0
    assert (tmp_path / "one.hdf5").read_bytes() == (tmp_path / "two.hdf5").read_bytes()


@pytest.mark.usefixtures("quick_workers")
def test_a_worker_that_dies_is_reported_and_the_job_resumes(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = write(tmp_path, corpus("die")), tmp_path / "out.hdf5"
    assert run(own, source, target, "--workers", "2") == 1
    message = capsys.readouterr().err
    assert "a worker ended by SIGKILL; run the same command again to resume, with fewer --workers" in message
    assert not target.exists()
    assert run(own, source, target, "--workers", "2") == 0
    assert target.read_bytes() == one_process(own, source)


@pytest.mark.usefixtures("quick_workers")
def test_an_error_of_the_encoder_reaches_the_user(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path, corpus("fail"))
    assert run(own, source, tmp_path / "out.hdf5", "--workers", "2") == 2
    assert "error: the encoder does not like this sentence" in capsys.readouterr().err


SCRIPT = """
import signal

from elmo_bench.cli import embed, embed_workers
from elmo_bench.cli.main import main

embed.TOKENS_AT_ONCE = 12
if __name__ == "__main__":
    # as in a terminal: a process that a shell starts in the background ignores Ctrl-C, and so do its children
    signal.signal(signal.SIGINT, signal.default_int_handler)
    raise SystemExit(main({arguments!r}))
"""


@pytest.mark.usefixtures("quick_workers")  # to resume
@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL])
def test_a_stopped_job_leaves_no_process_and_resumes(
    own: Path, tmp_path: Path, number: signal.Signals
) -> None:
    source, target = write(tmp_path, corpus("sleep")), tmp_path / "out.hdf5"
    files = [str(own), str(source), str(target)]
    arguments = ["embed", "--config-dir", *files, "encoder=letters", "--workers", "2"]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(arguments=arguments))
    process = subprocess.Popen(
        [sys.executable, str(script)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: (own / "marks" / "sleep").exists())
    os.killpg(process.pid, number)  # as a terminal or a batch system does: all processes
    errors = process.communicate(timeout=60)[1]
    if number is signal.SIGINT:
        assert process.returncode == 130
        assert "stopped; run the same command again to resume" in errors
        assert "Traceback" not in errors
    wait_for(lambda: not is_alive(process.pid))
    assert not target.exists()
    assert run(own, source, target, "--workers", "2") == 0
    assert target.read_bytes() == one_process(own, source)


def test_a_worker_that_is_left_over_does_not_write_to_the_file_of_the_next_job(
    own: Path, tmp_path: Path
) -> None:
    """As after kill -9 of the parent alone: the worker still writes the block that it is encoding."""
    source, target = write(tmp_path, corpus("wait")), tmp_path / "out.safetensors"
    arguments = [
        "embed",
        "--config-dir",
        str(own),
        str(source),
        str(target),
        "encoder=letters",
        "--workers",
        "2",
    ]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(arguments=arguments))
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    process = subprocess.Popen(
        [sys.executable, str(script)], cwd=PROJECT, env=environment, start_new_session=True
    )
    wait_for(lambda: (own / "marks" / "waiting").exists())
    process.kill()
    process.wait()

    def note_the_end() -> None:
        wait_for(lambda: not is_alive(process.pid))
        (own / "marks" / "ended").touch()

    watcher = Thread(target=note_the_end)
    watcher.start()
    other = write(tmp_path, ["a longer sentence than those of the other file release", *corpus()])
    assert run(own, other, target) == 0
    watcher.join()
    assert target.read_bytes() == one_process(own, other, target.name)


@pytest.mark.parametrize("ending", [".part", ".part.json"])
@pytest.mark.parametrize("damage", [flip, truncate, empty, delete, become_dangling])
@pytest.mark.parametrize("name", ["out.hdf5", "out.safetensors"])
def test_what_was_damaged_since_is_written_again(
    own: Path, tmp_path: Path, name: str, damage: Damage, ending: str
) -> None:
    source, target = write(tmp_path, [*corpus(), "fail"]), tmp_path / name
    assert run(own, source, target) == 2
    damage(target.with_name(f"{name}{ending}"))
    assert run(own, source, target) == 0
    assert target.read_bytes() == one_process(own, source, name)


def test_what_a_process_killed_at_its_end_has_left_is_removed(own: Path, tmp_path: Path) -> None:
    source, target = write(tmp_path, corpus()), tmp_path / "out.hdf5"
    assert run(own, source, target) == 0
    (notes := tmp_path / "out.hdf5.part.json").write_text("{}")
    assert run(own, source, target) == 0
    assert not notes.exists()


@pytest.mark.parametrize("name", ["out.hdf5", "out.safetensors"])
def test_a_changed_description_of_the_values_is_written_again(own: Path, tmp_path: Path, name: str) -> None:
    source, target = write(tmp_path, [*corpus(), "fail"]), tmp_path / name
    assert run(own, source, target) == 2
    part = target.with_name(f"{name}.part")
    content = part.read_bytes()
    (identity,) = re.findall(rb"[0-9a-f]{64}", content)
    part.write_bytes(content.replace(identity, identity[::-1]))
    assert run(own, source, target) == 0
    assert target.read_bytes() == one_process(own, source, name)


def wait_for(happened: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("name", ["out.hdf5", "out.safetensors"])
@pytest.mark.parametrize("count", [1, 3, 16])
def test_parts_are_joined_to_the_bytes_of_one_process(
    own: Path, tmp_path: Path, name: str, count: int
) -> None:
    source, target = write(tmp_path, corpus()), tmp_path / name
    for number in range(1, count + 1):
        assert run(own, source, target, "--shard", f"{number}/{count}") == 0
    assert run(own, source, target, "--join", str(count)) == 0
    assert target.read_bytes() == one_process(own, source, name)


@pytest.mark.parametrize("name", ["out.hdf5", "out.safetensors"])
def test_of_a_small_file_some_parts_are_empty(own: Path, tmp_path: Path, name: str) -> None:
    source, target = write(tmp_path, ["a bc", "d"]), tmp_path / name
    for number in (1, 2, 3):
        assert run(own, source, target, "--shard", f"{number}/3") == 0
        assert run(own, source, target, "--shard", f"{number}/3") == 0  # already done
    assert run(own, source, target, "--join", "3") == 0
    assert target.read_bytes() == one_process(own, source, name)


@pytest.mark.parametrize("name", ["out.hdf5", "out.safetensors"])
def test_a_damaged_part_is_named(
    own: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = write(tmp_path, corpus()), tmp_path / name
    for number in (1, 2):
        assert run(own, source, target, "--shard", f"{number}/2") == 0
    expected = one_process(own, source, name)
    part = Part(2, 2).path(target)
    content, refused = part.read_bytes(), 0
    for place in range(0, len(content), 331):
        part.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        if run(own, source, target, "--join", "2") == 0:  # where the format reads nothing
            assert target.read_bytes() == expected
            target.unlink()
        else:
            assert str(part) in capsys.readouterr().err
            refused += 1
    assert refused > 5


@pytest.mark.parametrize("damage", [delete, truncate])
def test_a_part_without_its_hashes_is_not_joined(
    own: Path, tmp_path: Path, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = write(tmp_path, corpus()), tmp_path / "out.hdf5"
    for number in (1, 2):
        assert run(own, source, target, "--shard", f"{number}/2") == 0
    damage(tmp_path / "out.2-of-2.hdf5.hashes.json")
    assert run(own, source, target, "--join", "2") == 1
    assert "out.2-of-2.hdf5.hashes.json: missing or damaged; copy it along with" in capsys.readouterr().err


def test_a_part_keeps_the_indices_of_the_whole_file(own: Path, tmp_path: Path) -> None:
    source, target = write(tmp_path, corpus()), tmp_path / "out.hdf5"
    keys: list[int] = []
    for number in (1, 2, 3, 4):
        assert run(own, source, target, "--shard", f"{number}/4") == 0
        with h5py.File(tmp_path / f"out.{number}-of-4.hdf5") as file:
            keys += sorted(map(int, file))
            words = source.read_text().split("\n")[int(next(iter(file)))].split()
            assert file[next(iter(file))].shape == (2, len(words), 3)
    assert keys == list(range(61))
    assert Part(3, 16).path(target).name == "out.03-of-16.hdf5"


def test_parts_have_equally_many_tokens_but_for_a_block() -> None:
    lengths = np.random.default_rng(1).integers(0, 9, 5000).tolist()
    blocks, starts = cut_blocks(lengths)
    assert [line for block in blocks for line in block] == list(range(5000))
    assert starts[-1] == sum(lengths) + 5000
    job = embed.Job(Path("in"), Path("out.hdf5"), lengths, None)  # type: ignore[arg-type]
    for count in (1, 2, 7, 16):
        parts = [job.blocks(Part(number, count)) for number in range(1, count + 1)]
        assert [block for part in parts for block in part] == blocks
        tokens = [sum(lengths[line] + 1 for block in part for line in block) for part in parts]
        assert max(tokens) - min(tokens) <= 2 * (embed.TOKENS_AT_ONCE + 9)


def test_a_missing_part_is_named(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = write(tmp_path, corpus()), tmp_path / "out.hdf5"
    assert run(own, source, target, "--shard", "1/3") == 0
    assert run(own, source, target, "--join", "3") == 3
    message = capsys.readouterr().err
    assert "out.2-of-3.hdf5: no such file; 2 of 3 parts are missing" in message
    assert "--shard 2/3" in message


def test_a_device_that_is_not_there_leaves_nothing_behind(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path, corpus())
    assert run(own, source, tmp_path / "out.hdf5", "--device", "nowhere") == 2
    assert "error: encoder.device=nowhere: PyTorch cannot use it" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["sentences.txt"]


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(errno.ENOSPC, "then run the same command again to resume"), (errno.EROFS, "choose another place")],
)
def test_a_refusal_of_the_system_has_the_remedy_of_its_kind(
    own: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: int,
    remedy: str,
) -> None:
    def refuse(self: VectorFile) -> None:
        raise OSError(number, os.strerror(number), "a temporary name")

    monkeypatch.setattr(VectorFile, "lay_out", refuse)
    assert run(own, write(tmp_path, corpus()), tmp_path / "out.hdf5") == 1
    errors = capsys.readouterr().err
    assert f"error: {tmp_path / 'out.hdf5'}: {os.strerror(number).lower()}; " in errors
    assert remedy in errors


def test_lines_without_tokens_are_noted_once(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path, ["a", "", "b", "  "])
    assert run(own, source, tmp_path / "out.hdf5") == 0
    assert capsys.readouterr().err.count("sentences.txt:2: note: 2 lines have no tokens") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "choose the encoder: either --model DIR or encoder=NAME"),
        (["encoder=letters", "--model", "x"], "choose the encoder: either"),
        (["encoder=lettres"], "encoder=lettres: there is no such choice; did you mean 'letters'?"),
        (["encoder=letters", "encoder.markz=1"], "encoder.markz: there is no such key"),
        (["encoder=letters", "--workers", "0"], "--workers 0: expected a positive number"),
    ],
)
def test_bad_requests_are_explained(
    own: Path, tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path, ["a"])
    assert main(["embed", "--config-dir", str(own), str(source), str(tmp_path / "out.hdf5"), *words]) == 2
    assert message in capsys.readouterr().err
    for shard in ("0/3", "4/3", "3", "a/b"):
        with pytest.raises(SystemExit):
            run(own, source, tmp_path / "out.hdf5", "--shard", shard)
    assert "expected K/N with K from 1 to N, such as 3/16" in capsys.readouterr().err


def test_two_processes_do_not_fill_one_file(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:

    source = write(tmp_path, ["a"])
    with immediate_lock(tmp_path / ".out.hdf5.lock", "held"):
        assert run(own, source, tmp_path / "out.hdf5") == 1
    assert "out.hdf5: another process is writing it" in capsys.readouterr().err
