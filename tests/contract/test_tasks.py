"""What every task of conf/task must hold; a new task is tested by being there."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
import torch

from elmo_bench import sources
from elmo_bench.catalog import read_task
from elmo_bench.config import ElmoConfig, RunConfig
from elmo_bench.data.batching import IndexedExample
from elmo_bench.data.vectors import word_table
from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.encoders.injection import Injection
from elmo_bench.plugins import load_task
from elmo_bench.run.batches import collate
from elmo_bench.task import AnyTask, Example, Task
from elmo_bench.tensors import Batch
from elmo_bench.types import UsageError, Words
from tests.support.composition import TASKS, run_config

LAYERS, DIM = 3, 8
EXAMPLES = 6


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated world, written once for all tasks."""
    return tmp_path_factory.mktemp("contract")


@cache
def config_of(task: str, root: Path) -> RunConfig:
    return run_config(f"task={task}", root=root)


@cache
def examples_of(task: str, root: Path, split: str) -> tuple[AnyTask, tuple[Example, ...]]:
    config = config_of(task, root)
    corpus = sources.prepare(config.task, config.data, config.paths, say=lambda _: None)
    plugin = load_task(config.task)
    return plugin, tuple(plugin.read(corpus.files[split]))


def layers_of(sequences: Sequence[Words]) -> tuple[torch.Tensor, torch.Tensor]:
    """Layers that depend on the word alone, so that a padded batch gives the same ones."""
    longest = max(map(len, sequences))
    layers, mask = torch.zeros(len(sequences), LAYERS, longest, DIM), torch.zeros(len(sequences), longest)
    for row, words in enumerate(sequences):
        for time, word in enumerate(words):
            seed = sum(place * ord(character) for place, character in enumerate(word, 1))
            layers[row, :, time] = torch.randn(LAYERS, DIM, generator=torch.Generator().manual_seed(seed))
        mask[row, : len(words)] = 1
    return layers, mask.bool()


def small_batch(plugin: AnyTask, examples: Sequence[Example]) -> tuple[Vocabularies, Batch]:
    words = [
        word for row in examples for rows in plugin.sentences(row).values() for ws in rows for word in ws
    ]
    table = word_table("random", None, words, 6, seed=1, trainable=True)
    vocabularies = Vocabularies(table, plugin.vocabularies(examples))
    indexed = [
        IndexedExample(row.id, plugin.sentences(row), plugin.index(row, vocabularies)) for row in examples
    ]
    return vocabularies, collate(indexed, layers_of)


@pytest.mark.parametrize("task", TASKS)
def test_a_plug_in_says_that_it_is_a_task(task: str) -> None:
    """What a dotted path leads to can then be checked before it is called."""
    assert Task in type(load_task(read_task(task))).__mro__


def test_a_task_that_lacks_a_function_cannot_be_made() -> None:
    class Unfinished(Task[Example]):
        pass

    with pytest.raises(TypeError, match="build_head, count, gold, index, read"):
        Unfinished()  # type: ignore[abstract]


@pytest.mark.parametrize("task", TASKS)
def test_no_setting_has_a_second_value_in_python(task: str) -> None:
    """The values are in conf/task; Python has types and ranges only."""

    def check(kind: type, where: str) -> None:
        for field in dataclasses.fields(kind):
            name = f"{where}.{field.name}"
            assert field.default is dataclasses.MISSING, name
            assert field.default_factory is dataclasses.MISSING, name
            value = getattr(plugin if kind is type(plugin) else plugin.head, field.name)
            if dataclasses.is_dataclass(value):
                check(type(value), name)

    plugin = load_task(read_task(task))
    check(type(plugin), task)


@pytest.mark.parametrize("task", TASKS)
def test_gold_scored_against_itself_is_perfect(task: str, world: Path) -> None:
    for split in sources.SPLITS:
        plugin, examples = examples_of(task, world, split)
        assert len(examples) >= 2
        counts = [plugin.count(example, plugin.gold(example)) for example in examples]
        assert plugin.score(counts)[plugin.metric] == 100.0


@pytest.mark.parametrize("task", TASKS)
def test_ids_are_unique_and_sentences_are_words(task: str, world: Path) -> None:
    for split in sources.SPLITS:
        plugin, examples = examples_of(task, world, split)
        assert len({example.id for example in examples}) == len(examples)
        for example in examples[:50]:
            for rows in plugin.sentences(example).values():
                assert rows
                for words in rows:
                    assert words
                    assert all(word and not any(map(str.isspace, word)) for word in words)


@pytest.mark.parametrize("where", ["none", "input", "output", "both"])
@pytest.mark.parametrize("task", TASKS)
def test_every_place_builds_steps_and_decodes(task: str, where: str, world: Path) -> None:
    plugin, examples = examples_of(task, world, "train")
    few = examples[:EXAMPLES]
    vocabularies, batch = small_batch(plugin, few)
    elmo = ElmoConfig.model_validate(
        {
            "where": where,
            "layers": "all",
            "lambda": 0.1,
            "layer_norm": False,
            "dropout": 0.0,
            "gamma": "learned",
        }
    )
    injection = Injection(elmo, LAYERS, DIM)
    try:
        head = plugin.build_head(vocabularies, injection.widths)
    except UsageError as refusal:  # a head without an RNN has no output to inject at
        assert where in ("output", "both")
        assert "elmo.where" in str(refusal)
        return
    if head.fitting == "one_pass":
        head.observe(injection(batch.streams), batch)  # type: ignore[attr-defined]
        head.finish()  # type: ignore[attr-defined]
        output = head(injection(batch.streams), batch)
    else:
        output = head(injection(batch.streams), batch)
        (output.loss + injection.penalty()).backward()
        for mix in injection.mixes.values():
            assert mix.w.grad.abs().sum() > 0
            assert mix.gamma.grad.abs() > 0
    predictions = head.decode(output, batch)
    assert len(predictions) == len(few)
    assert json.loads(json.dumps(predictions)) == predictions
    counts = [plugin.count(example, guess) for example, guess in zip(few, predictions, strict=True)]
    assert 0 <= plugin.score(counts)[plugin.metric] <= 100


@pytest.mark.parametrize("task", TASKS)
def test_the_score_is_a_function_of_summed_counts(task: str, world: Path) -> None:
    """Any order of examples scores the same: what the bootstrap relies on."""
    plugin, examples = examples_of(task, world, "dev")
    shifted = [*examples[1:], examples[0]]
    wrong = [
        plugin.count(example, plugin.gold(other) if fits(plugin, example, other) else plugin.gold(example))
        for example, other in zip(examples, shifted, strict=True)
    ]
    assert plugin.score(wrong) == pytest.approx(plugin.score(wrong[::-1]))


def fits(plugin: AnyTask, example: Example, other: Example) -> bool:
    """Whether another example's answer has the shape that this one's needs."""
    ours = [len(words) for rows in plugin.sentences(example).values() for words in rows]
    theirs = [len(words) for rows in plugin.sentences(other).values() for words in rows]
    return ours == theirs
