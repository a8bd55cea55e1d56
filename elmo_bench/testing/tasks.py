"""The contract of tasks that training, scoring, statistics, restoring and ensembles rely on."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

import torch
from torch import nn

from elmo_bench.config import ElmoConfig
from elmo_bench.data.batching import IndexedExample
from elmo_bench.data.vocabulary import Vocabularies
from elmo_bench.data.word_table import word_table
from elmo_bench.encoders.injection import Injection
from elmo_bench.metrics.ratios import sum_counts
from elmo_bench.runs.batches import collate
from elmo_bench.runs.excerpts import excerpts_of
from elmo_bench.task import AnyTask, Example, Rendering, Task
from elmo_bench.tensors import Batch, Head, HeadOutput, Probabilistic, cut_batch, share_parts
from elmo_bench.types import Counts, Excerpt, Prediction, Scores, UsageError

LAYERS, DIM, WORD_DIM = 3, 8, 6  # of the vectors that replace an encoder's, and of word vectors
AT_LEAST = 8  # examples; with fewer, too many checks could pass by accident
BATCH = 8
PARTS_TOLERANCE = 1e-5  # of a gradient in float32, for a different order of summation
TOLERANCE = 1e-9  # relative tolerance of a score, for a different order of summation


def check_task(task: AnyTask, examples: Sequence[Example]) -> None:
    """Check the whole contract, with an untrained head and random vectors instead of an encoder's.

    Give at least eight examples, better some dozens, and not only easy ones: the predictions of an untrained
    head must contain errors. Every violation raises an AssertionError with a message.
    """
    assert len(examples) >= AT_LEAST, (
        f"check_task: expected at least {AT_LEAST} examples, got {len(examples)}"
    )
    check_declaration(task)
    check_examples(task, examples)
    check_excerpts(task, examples)
    check_gold(task, examples)
    vocabularies = build_vocabularies(task, examples[: len(examples) // 2])
    batches = [
        build_batch(task, examples[start : start + BATCH], vocabularies)
        for start in range(0, len(examples), BATCH)
    ]
    accepted = 0
    for where in get_args(ElmoConfig.model_fields["where"].annotation):
        injection = build_injection(where)
        head = build_head(task, vocabularies, injection, where)
        if head is None:
            continue
        accepted += 1
        check_training(head, injection, batches)
        predictions = check_predictions(head, injection, batches, examples)
        check_state(task, head, vocabularies, injection, batches[0], where)
        check_company(task, head, injection, vocabularies, examples, predictions)
        check_parts(head, injection, batches[0])
        check_probabilities(head, injection, batches[0])
        check_sums(task, examples, predictions)
        check_answers(task, examples, predictions)
        check_rendering(task, examples, predictions)
    assert accepted, "build_head() refused every value of elmo.where"


def check_declaration(task: AnyTask) -> None:
    """A task is a frozen dataclass of its settings that subclasses Task and names its metric."""
    kind = type(task)
    assert Task in kind.__mro__, f"{kind.__name__} must be a subclass of elmo_bench.task.Task"
    assert dataclasses.is_dataclass(task), f"{kind.__name__} must be a dataclass of its settings"
    assert cast(Any, kind).__dataclass_params__.frozen, f"{kind.__name__} must be frozen"
    for name, expected in (("version", int), ("metric", str), ("higher_is_better", bool)):
        value = getattr(kind, name, None)
        assert isinstance(value, expected), (
            f"{kind.__name__}.{name}: expected {expected.__name__}, got {value!r}"
        )


def check_examples(task: AnyTask, examples: Sequence[Example]) -> None:
    """Unique ids, the same streams in every example, and only words that an encoder can read."""
    ids = [example.id for example in examples]
    repeated = sorted({name for name in ids if ids.count(name) > 1})
    assert not repeated, f"two examples have the id {repeated[0]!r}"
    streams = list(task.sentences(examples[0]))
    assert streams, "sentences() names no stream"
    for example in examples:
        sentences = task.sentences(example)
        assert list(sentences) == streams, f"{example.id}: expected streams {streams}, got {list(sentences)}"
        for name, rows in sentences.items():
            assert rows and all(rows), f"{example.id}: an empty sentence in stream {name!r}"
            wrong = [word for row in rows for word in row if not word or any(map(str.isspace, word))]
            assert not wrong, f"{example.id}: {wrong[0]!r} in stream {name!r} is empty or contains a space"


def check_excerpts(task: AnyTask, examples: Sequence[Example]) -> None:
    """Inside its document a sentence is the same words, stream by stream."""
    for example in examples:
        located = excerpts_of(task, example, "document")
        found = {name: tuple(excerpt.words for excerpt in rows) for name, rows in located.items()}
        assert found == task.sentences(example), (
            f"{example.id}: excerpts() does not point at the words of sentences()"
        )


def check_gold(task: AnyTask, examples: Sequence[Example]) -> None:
    """The gold answers are JSON, have reproducible counts, and score at least as well as any prediction."""
    gold = [task.gold(example) for example in examples]
    assert_json(gold, "gold()")
    rows = [count(task, example, answer) for example, answer in zip(examples, gold, strict=True)]
    again = [count(task, example, answer) for example, answer in zip(examples, gold, strict=True)]
    assert rows == again, "count() gives other numbers for the same example and prediction"
    best = 100.0 if task.higher_is_better else 0.0
    score = score_of(task, rows)[task.metric]
    assert math.isclose(score, best, abs_tol=1e-6), (
        f"the gold answers, scored against themselves, have {task.metric} {score}; expected {best}"
    )


def check_answers(task: AnyTask, examples: Sequence[Example], predictions: Sequence[Prediction]) -> None:
    """Answers are text by what is asked, and a prediction that scores less than gold reads differently."""
    for example, prediction in zip(examples, predictions, strict=True):
        gold, found = task.answers(example, task.gold(example)), task.answers(example, prediction)
        texts = [*gold, *gold.values(), *found, *found.values()]
        assert all(isinstance(one, str) for one in texts), f"{example.id}: answers() must map text to text"
        scores = [
            score_of(task, [count(task, example, one)])[task.metric]
            for one in (task.gold(example), prediction)
        ]
        assert found != gold or math.isclose(*scores, abs_tol=1e-6), (
            f"{example.id}: answers() takes a prediction for gold that scores {scores[1]}, not {scores[0]}"
        )


def check_training(head: Head, injection: Injection, batches: Sequence[Batch]) -> None:
    """A gradient head has a finite loss whose gradient reaches ELMo's mix; a one-pass head is fitted."""
    if head.fitting == "one_pass":
        fitted = cast(Any, head)
        for batch in batches:
            fitted.observe(injection(batch.streams), batch)
        fitted.finish()
        return
    as_module(head).train()
    injection.zero_grad()
    output = head(injection(batches[0].streams), batches[0])
    assert output.loss.shape == (), f"the loss must be a scalar, got the shape {tuple(output.loss.shape)}"
    assert bool(output.loss.isfinite()), f"the loss is {output.loss.item()}"
    if output.loss.requires_grad:
        cast(Any, output.loss).backward()
    for place, mix in injection.mixes.items():
        for name, parameter in mix.named_parameters():
            reached = parameter.grad is not None and bool(parameter.grad.abs().sum() > 0)
            assert reached, f"elmo.where={place}: the loss does not depend on ELMo (no gradient at {name})"
    as_module(head).zero_grad()


def check_parts(head: Head, injection: Injection, batch: Batch) -> None:
    """A batch in parts (trainer.accumulate) has the gradients of the whole batch, but for the last bits."""
    if head.fitting == "one_pass":
        return
    as_module(head).eval()  # dropout draws other numbers for a part
    whole = gradients_of(head, injection, [batch])
    for name, gradient in gradients_of(head, injection, cut_batch(batch, 3)).items():
        far = float((gradient - whole[name]).abs().max()) if gradient.numel() else 0.0
        assert far <= PARTS_TOLERANCE * max(1.0, float(whole[name].abs().max())), (
            f"{name}: the gradient of a batch in three parts is {far:g} from that of the whole batch; if the "
            "loss is no mean over examples, the head needs loss_weight() (elmo_bench.tensors.Weighted)"
        )


def gradients_of(head: Head, injection: Injection, parts: Sequence[Batch]) -> dict[str, torch.Tensor]:
    """The gradient of every parameter, added up over the parts of a batch."""
    module = nn.ModuleList([as_module(head), injection])
    module.zero_grad()
    for part, share in zip(parts, share_parts(head, parts), strict=True):
        loss = head(injection(part.streams), part).loss * share
        if loss.requires_grad:
            cast(Any, loss).backward()
    found = {name: value.grad for name, value in module.named_parameters() if value.grad is not None}
    module.zero_grad()
    return found


def check_predictions(
    head: Head, injection: Injection, batches: Sequence[Batch], examples: Sequence[Example]
) -> list[Prediction]:
    """One JSON value per example, the same each time."""
    first, second = (
        [prediction for batch in batches for prediction in predict(head, injection, batch)] for _ in range(2)
    )
    assert len(first) == len(examples), f"decode() gave {len(first)} predictions for {len(examples)} examples"
    assert_json(first, "decode()")
    assert first == second, "in evaluation mode the same batch gets other predictions the second time"
    return first


def check_state(
    task: AnyTask, head: Head, vocabularies: Vocabularies, injection: Injection, batch: Batch, where: str
) -> None:
    """A new head with the saved state predicts the same: the state contains everything that was learned."""
    expected = predict(head, injection, batch)
    restored = build_head(task, vocabularies, injection, where, seed=2)
    assert restored is not None
    as_module(restored).load_state_dict(as_module(head).state_dict())
    assert predict(restored, injection, batch) == expected, (
        f"elmo.where={where}: a head restored from its state_dict() predicts something else"
    )


def check_company(
    task: AnyTask,
    head: Head,
    injection: Injection,
    vocabularies: Vocabularies,
    examples: Sequence[Example],
    expected: Sequence[Prediction],
) -> None:
    """Predictions do not depend on the other examples of a batch or on the resulting padding."""
    chosen = range(min(BATCH, len(examples)))
    for index in chosen:
        (alone,) = predict(head, injection, build_batch(task, [examples[index]], vocabularies))
        assert alone == expected[index], (
            f"{examples[index].id}: alone in a batch it gets another prediction (is padding read?)"
        )
    backwards = build_batch(task, [examples[index] for index in reversed(chosen)], vocabularies)
    assert predict(head, injection, backwards)[::-1] == list(expected[: len(chosen)]), (
        "in another order the examples of a batch get other predictions"
    )


def check_probabilities(head: Head, injection: Injection, batch: Batch) -> None:
    """An ensemble of one model makes the same predictions as the model."""
    if not isinstance(head, Probabilistic):
        return
    with torch.inference_mode():
        output = head(injection(batch.streams), batch)
        named = head.probabilities(output, batch)
        for name, values in named.items():
            assert bool((values >= 0).all()), f"probabilities(): {name!r} has negative values"
        logarithms = {name: values.log() for name, values in named.items()}
        mean = HeadOutput(output.loss, {**output.scores, **logarithms})
        assert head.decode(mean, batch) == head.decode(output, batch), (
            "decode() gives other predictions for the logarithm of probabilities() than for the scores"
        )


def check_sums(task: AnyTask, examples: Sequence[Example], predictions: Sequence[Prediction]) -> None:
    """The score depends only on the sum of all counts; the bootstrap and every table rely on this.

    Rows may therefore be added up in any groups. Groups of different sizes distinguish a ratio of sums, as in
    official scorers, from a mean of the examples' ratios.
    """
    answers = [  # correct ones and, mostly, wrong ones
        task.gold(example) if index % 4 == 0 else predictions[index] for index, example in enumerate(examples)
    ]
    rows = [count(task, example, answer) for example, answer in zip(examples, answers, strict=True)]
    expected = score_of(task, rows)
    best = 100.0 if task.higher_is_better else 0.0
    assert not math.isclose(expected[task.metric], best), (
        "check_task: the untrained head makes no error on these examples; give it harder ones"
    )
    for what, grouped in regroup(rows).items():
        scores = score_of(task, grouped)
        assert scores.keys() == expected.keys(), f"score() of {what} has other names: {sorted(scores)}"
        for name, value in scores.items():
            assert math.isclose(value, expected[name], rel_tol=TOLERANCE, abs_tol=TOLERANCE), (
                f"score() must be a function of summed counts: {name} is {expected[name]} from single rows, "
                f"{value} from {what}"
            )


def regroup(rows: Sequence[Counts]) -> dict[str, list[Counts]]:
    """The same rows added up in several groupings."""
    grouped = {
        "the same rows in reverse order": list(rows[::-1]),
        "one row that is the sum of all": [sum_counts(rows)],
        "the first row and the sum of the others": [rows[0], sum_counts(rows[1:])],
    }
    chooser = random.Random(1)
    for attempt in range(3):
        shuffled = chooser.sample(list(rows), len(rows))
        borders = sorted(chooser.sample(range(1, len(rows)), 3))
        groups = zip([0, *borders], [*borders, len(rows)], strict=True)
        grouped[f"sums of four random groups ({attempt + 1})"] = [
            sum_counts(shuffled[a:b]) for a, b in groups
        ]
    return grouped


def check_rendering(task: AnyTask, examples: Sequence[Example], predictions: Sequence[Prediction]) -> None:
    """Gold answers and predictions can be written in the task's official format."""
    if not isinstance(task, Rendering):
        return
    for answers in ([task.gold(example) for example in examples], predictions):
        text = task.render(examples, answers)
        assert isinstance(text, str), f"render() must give the text of a file, got {type(text).__name__}"
        assert text.endswith("\n"), "render(): the file must end with a line break"


def build_vocabularies(task: AnyTask, examples: Sequence[Example]) -> Vocabularies:
    """The vocabularies of a training set."""
    words = [
        word
        for example in examples
        for rows in task.sentences(example).values()
        for row in rows
        for word in row
    ]
    return Vocabularies(
        word_table("random", None, words, WORD_DIM, seed=1, trainable=True), task.vocabularies(examples)
    )


def build_batch(task: AnyTask, examples: Sequence[Example], vocabularies: Vocabularies) -> Batch:
    """Some examples with vectors; `index` must accept words and labels that training has not seen."""
    indexed = []
    for example in examples:
        try:
            fields = task.index(example, vocabularies)
        except Exception as error:
            raise AssertionError(
                f"{example.id}: index() raised {type(error).__name__}: {error}; it must accept what the "
                "training examples lack"
            ) from error
        indexed.append(IndexedExample(example.id, excerpts_of(task, example, "document"), fields))
    return collate(indexed, vectors_of)


def vectors_of(excerpts: Sequence[Excerpt]) -> tuple[torch.Tensor, torch.Tensor]:
    """Random vectors that depend only on the word, (rows, layers, time, dim), and their mask."""
    longest = max(map(len, excerpts))
    layers = torch.zeros(len(excerpts), LAYERS, longest, DIM)
    mask = torch.zeros(len(excerpts), longest, dtype=torch.bool)
    for row, excerpt in enumerate(excerpts):
        for time, word in enumerate(excerpt.words):
            seed = sum(position * ord(character) for position, character in enumerate(word, 1))
            layers[row, :, time] = torch.randn(LAYERS, DIM, generator=torch.Generator().manual_seed(seed))
        mask[row, : len(excerpt)] = True
    return layers, mask


def build_injection(where: str) -> Injection:
    """ELMo's mixes at the given injection points."""
    values = {"where": where, "layers": "all", "lambda": 0.1, "layer_norm": False, "dropout": 0.0}
    return Injection(ElmoConfig.model_validate({**values, "gamma": "learned"}), range(LAYERS), DIM)


def build_head(
    task: AnyTask, vocabularies: Vocabularies, injection: Injection, where: str, seed: int = 1
) -> Head | None:
    """A head with weights drawn by the seed; None if it refuses these injection points."""
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    try:
        head = task.build_head(vocabularies, injection.widths)
    except UsageError as refusal:
        assert where in ("output", "both"), f"build_head() refused elmo.where={where}: {refusal}"
        assert "elmo.where" in str(refusal), f"a refusal must name elmo.where, got: {refusal}"
        return None
    finally:
        torch.set_rng_state(state)
    assert isinstance(head, nn.Module), f"build_head() must give a torch.nn.Module, got {type(head).__name__}"
    assert head.fitting in ("gradient", "one_pass"), (
        f"a head's fitting is gradient or one_pass: {head.fitting!r}"
    )
    return head


def predict(head: Head, injection: Injection, batch: Batch) -> list[Prediction]:
    """Predictions in evaluation mode."""
    as_module(head).eval()
    with torch.inference_mode():
        output = head(injection(batch.streams), batch)
        return head.decode(output, batch)


def as_module(head: Head) -> nn.Module:
    """The head with the type of a module."""
    return cast(nn.Module, head)


def count(task: AnyTask, example: Example, prediction: Prediction) -> Counts:
    """The counts of one example, which must be finite numbers."""
    counts = task.count(example, prediction)
    wrong = {name: value for name, value in counts.items() if not math.isfinite(value)}
    assert not wrong, f"{example.id}: count() must give finite numbers, got {wrong}"
    return counts


def score_of(task: AnyTask, rows: Sequence[Counts]) -> Scores:
    """The scores of some rows, among them the task's metric, all finite."""
    scores = task.score(rows)
    assert task.metric in scores, f"score() has no {task.metric!r}, the task's metric: {sorted(scores)}"
    wrong: Mapping[str, float] = {name: value for name, value in scores.items() if not math.isfinite(value)}
    assert not wrong, f"score() must give finite numbers, got {wrong}"
    return scores


def assert_json(values: Sequence[Prediction], where: str) -> None:
    """Predictions are stored as JSON lines, and must be unchanged when read again."""
    try:
        again = json.loads(json.dumps(values))
    except TypeError as error:
        raise AssertionError(f"{where}: predictions must be plain JSON values ({error})") from error
    assert again == values, f"{where}: a prediction changes when written as JSON and read again"
