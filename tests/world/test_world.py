"""The generated world: the same bytes everywhere, and labels that only context can give."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from elmo_bench.world import WORLD_VERSION, WorldSize, write_world
from elmo_bench.world.lexicon import NAME_POOLS, NAMES, Scope, senses
from elmo_bench.world.tables import RELATIONS
from elmo_bench.world.tagging import conll2003
from elmo_bench.world.writing import SPLITS, told_stories, world_files

SMALL = WorldSize(
    text=40, heldout=3, pos=(2, 2, 2), ner=(2, 2, 2), srl=(2, 2, 2), wsd=(1, 1, 1),
    sst5=(9, 9, 9), snli=(9, 9, 9), coref=(2, 2, 2), squad=(5, 5, 5),
)  # fmt: skip


@pytest.fixture(scope="module")
def world() -> dict[str, str]:
    return world_files(WorldSize())


def sentences_with_tags(conll: str) -> list[list[tuple[str, str]]]:
    blocks = (block for block in conll.split("\n\n") if block and not block.startswith("-DOCSTART-"))
    return [[(line.split(" ")[0], line.split(" ")[3]) for line in block.split("\n")] for block in blocks]


def names_by_class(conll: str) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences_with_tags(conll):
        for word, tag in sentence:
            if tag != "O":
                found[word][tag[2:]] += 1
    return found


def test_the_world_of_this_version_has_these_bytes(world: dict[str, str]) -> None:
    """Runs are compared across machines and releases. To change the world, raise WORLD_VERSION.

    Published results on the sample data then belong to the old version and have to be run again.
    """
    digests = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in sorted(world.items())}
    digest = hashlib.sha256(json.dumps(digests).encode()).hexdigest()
    assert (WORLD_VERSION, digest) == (5, "4cdd09b4ac7a44fc4330a5d82fa948fea9fb2568229fe49a23576ca196284e2f")


def test_same_bytes_under_every_hash_seed() -> None:
    program = (
        "import hashlib; from elmo_bench.world import *; from elmo_bench.world.writing import world_files; "
        "from tests.world.test_world import SMALL; "
        "print(hashlib.sha256(repr(sorted(world_files(SMALL).items())).encode()).hexdigest())"
    )
    root = Path(__file__).parents[2]
    digests = set()
    for seed in ("0", "1", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", program], cwd=root, env=environment, capture_output=True, check=True
        )
        digests.add(run.stdout)
    here = hashlib.sha256(repr(sorted(world_files(SMALL).items())).encode()).hexdigest()
    assert digests == {here.encode() + os.linesep.encode()}


def test_writes_what_it_generates(tmp_path: Path) -> None:
    write_world(tmp_path, SMALL)
    files = world_files(SMALL)
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert written == set(files)
    assert all((tmp_path / path).read_bytes() == content.encode() for path, content in files.items())


def test_a_longer_part_starts_like_a_shorter_one() -> None:
    longer = WorldSize(**{**vars(SMALL), "ner": (3, 2, 2)})
    short, long = world_files(SMALL), world_files(longer)
    assert long["ner/train.conll"].startswith(short["ner/train.conll"])
    assert {path for path in short if short[path] != long[path]} == {"ner/train.conll"}


def test_plain_text_is_large_and_labelled_sets_are_small(world: dict[str, str]) -> None:
    text = world["text/train.txt"].splitlines()
    assert 25_000 <= len(text) <= 60_000
    assert 300_000 <= sum(len(line.split(" ")) for line in text) <= 600_000
    assert 150 <= len(sentences_with_tags(world["ner/train.conll"])) <= 600


def test_plain_text_is_one_clean_sentence_per_line(world: dict[str, str]) -> None:
    for part in ("text/train.txt", "text/heldout.txt"):
        for line in world[part].splitlines():
            assert line == " ".join(line.split()), line
            assert line[0].isupper() and line.endswith((" .", " ?")), line
            assert "/" not in line and ", ," not in line and ", ." not in line, line


def test_heldout_text_is_not_in_the_training_text(world: dict[str, str]) -> None:
    train = world["text/train.txt"].splitlines()
    heldout = world["text/heldout.txt"].splitlines()
    repeated = sum(line in set(train) for line in heldout)
    assert train[: len(heldout)] != heldout
    assert repeated < 0.1 * len(heldout)


def test_names_of_the_splits_are_disjoint_and_all_are_in_the_text(world: dict[str, str]) -> None:
    counts = Counter(word for line in world["text/train.txt"].splitlines() for word in line.split(" "))
    assert all(counts[name] >= 40 for name in NAMES)
    seen = {split: set(names_by_class(world[f"ner/{split}.conll"])) for split in SPLITS}
    assert (
        not seen["train"] & seen["dev"]
        and not seen["train"] & seen["test"]
        and not seen["dev"] & seen["test"]
    )
    words_of_train = {
        word for sentence in sentences_with_tags(world["ner/train.conll"]) for word, _ in sentence
    }
    assert not words_of_train & seen["test"]
    assert sum(map(len, (NAME_POOLS["train"], NAME_POOLS["dev"], NAME_POOLS["test"]))) == len(NAMES)


def test_no_name_gives_its_class_away(world: dict[str, str]) -> None:
    found = names_by_class(world["ner/test.conll"])
    occurrences = sum(sum(counts.values()) for counts in found.values())
    always_the_favourite = sum(max(counts.values()) for counts in found.values())
    frequent = {name: counts for name, counts in found.items() if sum(counts.values()) >= 8}
    assert len(frequent) >= 15
    assert sum(len(counts) >= 2 for counts in frequent.values()) > 0.9 * len(frequent)
    text_classes = names_by_class(conll2003(told_stories("check", "text", 1500)))
    assert all(len(text_classes[name]) >= 2 for name in NAMES)
    assert sum(len(text_classes[name]) == 4 for name in NAMES) > 0.7 * len(NAMES)
    assert always_the_favourite < 0.75 * occurrences


def test_every_spelling_serves_every_class(world: dict[str, str]) -> None:
    """No last half of a name belongs to one class only, so that characters do not decide."""
    by_ending: dict[str, set[str]] = defaultdict(set)
    for split in SPLITS:
        for name, counts in names_by_class(world[f"ner/{split}.conll"]).items():
            by_ending[name[-3:]].update(counts)
    common = [
        classes for ending, classes in by_ending.items() if ending in ("ton", "ley", "man", "den", "ick")
    ]
    assert common and all(classes == {"PER", "LOC", "ORG", "MISC"} for classes in common)


def test_most_cue_words_of_the_test_set_are_new(world: dict[str, str]) -> None:
    """Words that the test set has and the labelled training set lacks are in the plain text."""
    train = {word for sentence in sentences_with_tags(world["ner/train.conll"]) for word, _ in sentence}
    test = {
        word
        for sentence in sentences_with_tags(world["ner/test.conll"])
        for word, tag in sentence
        if tag == "O"
    }
    text = {word for line in world["text/train.txt"].splitlines() for word in line.split(" ")}
    new = {word for word in test if word.lower() not in {known.lower() for known in train}}
    assert len(new) > 0.3 * len(test)
    lower = {word.lower() for word in text}
    assert sum(word.lower() in lower for word in new) > 0.98 * len(new)


def test_labelled_training_parts_know_a_third_of_each_list() -> None:
    train, test = Scope("train"), Scope("test")
    for relation in RELATIONS:
        assert len(train.words(relation.verbs)) == (len(relation.verbs) + 2) // 3
        assert test.words(relation.verbs) == relation.verbs


def test_there_are_ambiguous_nouns_and_verbs() -> None:
    kinds = Counter(pos for _, pos in senses())
    assert kinds["n"] >= 12 and kinds["v"] >= 12
    assert all(len(of) >= 2 for of in senses().values())
