"""The interface of task plug-ins; each file `tasks/<name>.py` holds one, and no other code names it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, TypeVar, runtime_checkable

from pydantic import Field

from elmo_bench.types import Counts, Excerpt, Prediction, Scores, SplitFiles, UsageError, Words

if TYPE_CHECKING:  # importing PyTorch takes a second, and a finished run is recognised without it
    from torch import Tensor

    from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
    from elmo_bench.tensors import Head, Widths

Rate = Annotated[float, Field(ge=0, lt=1)]
"""The type of a dropout rate among the settings of a task."""


class Example(Protocol):
    """One typed example; each task has its own frozen dataclass."""

    @property
    def id(self) -> str: ...


E = TypeVar("E", bound=Example)


class Task(Protocol[E]):
    """A task plug-in: pure functions over one example type; its fields are its settings."""

    version: ClassVar[int]  # increased when scores are no longer comparable
    metric: ClassVar[str]  # the key of `score` that is the dev score
    higher_is_better: ClassVar[bool]
    answers_are_labels: ClassVar[bool] = True  # of a closed set; else they are words of the text
    packages: ClassVar[tuple[str, ...]] = ()  # that make numbers besides PyTorch and NumPy, for the record

    @abstractmethod
    def read(self, files: SplitFiles) -> Iterable[E]:
        """Typed examples of one split, in file order, with unique ids."""
        ...

    @abstractmethod
    def sentences(self, example: E) -> Mapping[str, tuple[Words, ...]]:
        """The token sequences the encoder reads, by stream; treebank escapes undone."""
        ...

    @abstractmethod
    def vocabularies(self, examples: Sequence[E]) -> Mapping[str, Vocabulary]:
        """Characters, labels and the like, from the training examples; the pipeline provides word ids."""
        ...

    @abstractmethod
    def index(self, example: E, vocabularies: Vocabularies) -> Mapping[str, Tensor]:
        """The fields of one example; batches pad them with zeros."""
        ...

    @abstractmethod
    def build_head(self, vocabularies: Vocabularies, widths: Widths) -> Head: ...

    @abstractmethod
    def gold(self, example: E) -> Prediction:
        """The correct answer in the form of a prediction; scored against itself it is perfect."""
        ...

    def answers(self, example: E, prediction: Prediction) -> Mapping[str, str]:
        """What a prediction answers, as text, by what is asked; a right answer reads like the gold one."""
        return {"answer": str(prediction)}

    @abstractmethod
    def count(self, example: E, prediction: Prediction) -> Counts:
        """The counts of one example; their sum over a split decides the score."""
        ...

    @abstractmethod
    def score(self, counts: Sequence[Counts]) -> Scores: ...


AnyTask = Task[Any]


def score_by_metric(task: AnyTask, counts: Sequence[Counts]) -> float:
    """The one score that dev data choose by and tables show."""
    scores = task.score(counts)
    if task.metric not in scores:
        raise UsageError(
            f"task.plugin: the metric of {type(task).__name__} is {task.metric!r}, but its score gave "
            f"{', '.join(scores) or 'nothing'}; metric must be the name of one of these scores"
        )
    return scores[task.metric]


@runtime_checkable
class Rendering(Protocol):
    """A task whose predictions have an official file format; optional."""

    def render(self, examples: Sequence[Any], predictions: Sequence[Prediction]) -> str:
        """The content of the file."""
        ...


@runtime_checkable
class Documented(Protocol):
    """A task with corpora that say where documents begin, for `encoder.context=document`; optional."""

    def excerpts(self, example: Any) -> Mapping[str, tuple[Excerpt, ...]] | None:
        """The sequences of `sentences` inside their document; None if the corpus does not name it."""
        ...


@runtime_checkable
class Named(Protocol):
    """An example that has a name in its corpus beside its id; optional."""

    corpus_id: str
