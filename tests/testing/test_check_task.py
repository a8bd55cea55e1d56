"""The contract of tasks finds what it is there to find: every mutant breaks one property."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import pytest
import torch
from pydantic.dataclasses import dataclass as checked_dataclass
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.metrics.accuracy import count_correct, score_accuracy
from elmo_bench.task import Task
from elmo_bench.tensors import Batch, Head, HeadOutput, Injected, Widths
from elmo_bench.testing import check_task
from elmo_bench.types import Counts, Prediction, Scores, SplitFiles, UsageError, Words

LABELS = ("A", "B", "C")


@dataclass(frozen=True)
class Sentence:
    id: str
    words: Words
    tags: tuple[str, ...]


@checked_dataclass(frozen=True)
class Tagging(Task[Sentence]):
    """A sound task: a tag for each word by a linear layer."""

    mutant: str = ""

    version: ClassVar[int] = 1
    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True

    def read(self, files: SplitFiles) -> Iterable[Sentence]:
        return ()

    def sentences(self, example: Sentence) -> Mapping[str, tuple[Words, ...]]:
        if self.mutant == "a stream of its own" and example.id == "s3":
            return {"other": (example.words,)}
        if self.mutant == "a word with a space" and example.id == "s3":
            return {"text": ((*example.words[:-1], "New York"),)}
        if self.mutant == "an empty sentence" and example.id == "s3":
            return {"text": ((),)}
        return {"text": (example.words,)}

    def vocabularies(self, examples: Sequence[Sentence]) -> Mapping[str, Vocabulary]:
        if self.mutant == "labels of training only":
            return {"tags": Vocabulary.closed(tag for example in examples for tag in example.tags)}
        return {"tags": Vocabulary.closed((*LABELS, "RARE"))}

    def index(self, example: Sentence, vocabularies: Vocabularies) -> Mapping[str, Tensor]:
        tags = vocabularies["tags"].ids(example.tags)
        return {"words": vocabularies.words.ids(example.words), "tags": torch.tensor(tags)}

    def build_head(self, vocabularies: Vocabularies, widths: Widths) -> Head:
        if widths.at_output:
            text = (
                "no recurrent layer" if self.mutant == "refuses without a reason" else "elmo.where: no output"
            )
            raise UsageError(text)
        if self.mutant == "refuses the baseline" and not widths.at_input:
            raise UsageError("elmo.where: needs ELMo")
        return TaggingHead(self.mutant, vocabularies, widths)

    def gold(self, example: Sentence) -> Prediction:
        if self.mutant == "gold is not right" and example.id == "s3":
            return ["A"] * len(example.words)
        return tuple(example.tags) if self.mutant == "gold is a tuple" else list(example.tags)

    def count(self, example: Sentence, prediction: Prediction) -> Counts:
        counts = count_correct(example.tags, prediction)
        return {**counts, "rate": float("nan")} if self.mutant == "counts what is no number" else counts

    def score(self, counts: Sequence[Counts]) -> Scores:
        scores = score_accuracy(counts)
        if self.mutant == "mean of examples":
            rates = [100 * row["correct"] / row["answers"] for row in counts]
            return {"accuracy": sum(rates) / len(rates)}
        if self.mutant == "counts rows":
            return {**scores, "examples": float(len(counts))}
        return {"f1": scores["accuracy"]} if self.mutant == "no metric" else scores


class TaggingHead(nn.Module):
    fitting: ClassVar[Literal["gradient"]] = "gradient"

    def __init__(self, mutant: str, vocabularies: Vocabularies, widths: Widths) -> None:
        super().__init__()
        self.mutant = mutant
        self.tags = vocabularies["tags"].items
        self.words = nn.Embedding(len(vocabularies.words.matrix), 4)
        self.emit = nn.Linear(4 + widths.at_input, len(self.tags))
        self.scale = torch.randn(len(self.tags)) * 3

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        text = injected["text"]
        features = text.at_input * 0 if self.mutant == "reads no ELMo" else text.at_input
        scores = self.emit(torch.cat([self.words(batch.fields["words"]), features], dim=2))
        if self.mutant == "reads padding":
            scores = scores - scores.sum(1, keepdim=True)
        if self.mutant == "draws in evaluation":
            scores = scores + torch.randn(scores.shape) * 10
        if self.mutant == "state outside of its buffers":
            scores = scores * self.scale
        losses = F.cross_entropy(scores[text.mask], batch.fields["tags"][text.mask], reduction="none")
        loss = losses if self.mutant == "a loss per token" else losses.mean()
        return HeadOutput(loss / 0 if self.mutant == "an endless loss" else loss, {"tags": scores})

    def loss_weight(self, batch: Batch) -> float:
        """The loss is a mean over tokens."""
        parts = len(batch) if self.mutant == "weighs rows" else int(batch.streams["text"].mask.sum())
        return float(parts)

    def probabilities(self, output: HeadOutput, batch: Batch) -> Mapping[str, Tensor]:
        scores = output.scores["tags"]
        if self.mutant == "scores as probabilities":
            return {"tags": scores}
        return {"tags": (-scores if self.mutant == "other probabilities" else scores).softmax(2)}

    def decode(self, output: HeadOutput, batch: Batch) -> list[Any]:
        best = output.scores["tags"].argmax(2).tolist()
        if self.mutant == "always A":
            best = [[0] * len(row) for row in best]
        lengths = batch.streams["text"].mask.sum(1).tolist()
        rows = [[self.tags[tag] for tag in row[:length]] for row, length in zip(best, lengths, strict=True)]
        if self.mutant == "predicts for some":
            return rows[:-1]
        return [set(row) for row in rows] if self.mutant == "predicts sets" else rows


def examples() -> list[Sentence]:
    """Sentences of one to six words with tags that an untrained head cannot know."""
    texts = [tuple(f"w{(index * 7 + place) % 11}" for place in range(1 + index % 6)) for index in range(20)]
    tags = [
        tuple(LABELS[(index + place * place) % 3] for place in range(len(text)))
        for index, text in enumerate(texts)
    ]
    made = [Sentence(f"s{index}", *pair) for index, pair in enumerate(zip(texts, tags, strict=True))]
    return [*made, Sentence("s20", ("unseen",), ("RARE",))]


def test_a_sound_task_passes() -> None:
    check_task(Tagging(), examples())


MUTANTS = {
    "mean of examples": "must be a function of summed counts: accuracy is",
    "counts rows": "must be a function of summed counts: examples is",
    "no metric": "has no 'accuracy', the task's metric",
    "counts what is no number": "finite numbers",
    "gold is not right": "the gold answers, scored against themselves, have accuracy",
    "gold is a tuple": "gold.*: a prediction changes when written as JSON",
    "a stream of its own": "s3: expected streams",
    "a word with a space": "s3: 'New York'",
    "an empty sentence": "s3: an empty sentence",
    "labels of training only": "s20: index.* raised BenchError",
    "refuses without a reason": "a refusal must name elmo.where",
    "refuses the baseline": "refused elmo.where=none",
    "reads no ELMo": "does not depend on ELMo",
    "reads padding": "is padding read",
    "draws in evaluation": "the same batch gets other predictions",
    "state outside of its buffers": "restored from its state_dict",
    "a loss per token": "the loss must be a scalar",
    "weighs rows": "from that of the whole batch",
    "an endless loss": "the loss is inf",
    "scores as probabilities": "has negative values",
    "other probabilities": "other predictions for the logarithm",
    "predicts for some": "predictions for 21 examples",
    "predicts sets": "plain JSON values",
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_found(mutant: str) -> None:
    with pytest.raises(AssertionError, match=MUTANTS[mutant]):
        check_task(Tagging(mutant=mutant), examples())


def test_repeated_ids_are_found() -> None:
    with pytest.raises(AssertionError, match="two examples have the id 's1'"):
        check_task(Tagging(), [*examples(), examples()[1]])


def test_examples_must_be_many_and_hard_enough() -> None:
    with pytest.raises(AssertionError, match="at least 8 examples, got 7"):
        check_task(Tagging(), examples()[:7])
    easy = [Sentence(f"e{index}", ("a",), ("A",)) for index in range(8)]
    with pytest.raises(AssertionError, match="makes no error on these examples"):
        check_task(Tagging(mutant="always A"), easy)


def test_rendering_must_make_the_text_of_a_file() -> None:
    @checked_dataclass(frozen=True)
    class Rendered(Tagging):
        def render(self, examples: Sequence[Sentence], predictions: Sequence[Prediction]) -> object:
            return predictions if self.mutant == "no text" else " ".join(map(str, predictions))

    with pytest.raises(AssertionError, match="must give the text of a file, got list"):
        check_task(Rendered(mutant="no text"), examples())
    with pytest.raises(AssertionError, match="must end with a line break"):
        check_task(Rendered(), examples())


def test_what_is_not_a_frozen_task_is_refused() -> None:
    class Mutable(Tagging):
        __dataclass_params__ = SimpleNamespace(frozen=False)  # as @dataclass without frozen=True leaves it

    with pytest.raises(AssertionError, match="must be frozen"):
        check_task(Mutable(), examples())
    with pytest.raises(AssertionError, match="must be a subclass of"):
        check_task(object(), examples())  # type: ignore[arg-type]
