"""The record of a run: one small JSON file, and the counts from which its scores are computed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, TypeVar
from zipfile import BadZipFile

import numpy as np
from pydantic import AllowInfNan, BaseModel, ConfigDict, Field, ValidationError

from elmo_bench.files import atomic_file, write_atomically
from elmo_bench.hashing import SEAL, hash_value, read_sealed, seal_text
from elmo_bench.types import FILE_NAME, Counts, DamagedFileError

RUN_RECORD = "result.json"  # in the directory of a run; written last
ENSEMBLE_RECORD = "ensemble.json"  # in the directory of an ensemble
COUNTS = "counts.npz"
WEIGHTS = "head.safetensors"

FiniteScores = dict[str, dict[str, Annotated[float, AllowInfNan(False)]]]  # by split


class Sealed(BaseModel):
    """A record whose file carries the hash of its content, so that a changed digit is noticed.

    A loss of a diverged run is not a number; JSON is written with NaN for it, as Python reads it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")

    @property
    def contradiction(self) -> str | None:
        """What the record says of itself that cannot be true."""
        return None


class Finetuning(BaseModel):
    """Which biLM was trained on with which text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: str
    task: str
    source: str
    corpus: str
    data_sha256: dict[str, str]  # by split
    fraction: float = 1.0  # of the training text
    limit: int | None = None  # of its examples


class TunedEncoder(BaseModel):
    """Where the encoder of a run comes from if it was fine-tuned for the run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_fingerprint: str  # of the encoder before
    identity: str  # of the fine-tuning, as the model's own record has it
    steps: int
    finetuned: Finetuning


class EncodingSpeed(BaseModel):
    """How long an encoder took for some words; loading it and writing the store are not counted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens: int
    seconds: float
    device: str
    threads: int
    processor: str


class EncoderFacts(BaseModel):
    """What an encoder costs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    layers: int
    dim: int
    parameters: int | None
    token_bytes: int  # in the store, all layers
    speed: EncodingSpeed | None  # unknown if nothing was encoded on the machine


class Record(Sealed):
    """The record of one finished run; the only input of tables and figures."""

    kind: Literal["run"] = "run"
    task: str = Field(pattern=FILE_NAME)
    task_version: int
    metric: str
    condition: str  # hash of everything that decides the numbers, except the seed
    seed: int
    source: str
    corpus: str
    size: str
    encoder: str | None  # its name; the fingerprint is part of the identity
    tuned: TunedEncoder | None = None
    encoder_facts: EncoderFacts | None = None  # older records do not have it
    debug: bool  # trial run on a few examples: never in tables
    identity: dict[str, Any]  # what the condition hashes, in the clear
    config: dict[str, Any]  # the resolved configuration
    scores: FiniteScores
    examples: dict[str, int]  # by split
    left_out: dict[str, dict[str, int]] = {}  # contents of the files not used, such as pairs without a label
    curve: list[dict[str, float]]  # one row per epoch
    best_epoch: float | None
    # Why training ended; unknown in older records.
    stopped: Literal["patience", "cap", "one pass"] | None = None
    slope: float | None = None  # of dev over the last evaluations, in points per evaluation
    updates: int | None = None
    notes: list[str] | None = None  # what captions say of corpus and settings; older records do not have it
    learnt: dict[str, Any]  # layers with their weights s, and gamma, by injection point
    words: dict[str, Any]  # coverage of the word vectors
    hashes: dict[str, str]  # sha256 of data splits, predictions, counts, trained weights
    parameters: dict[str, int]
    seconds: dict[str, float]
    environment: dict[str, Any]  # version, commit and dirty of the code; packages, hardware, threads

    @property
    def contradiction(self) -> str | None:
        if self.condition != condition_of(self.identity):
            return f"its condition {self.condition} is not the hash of its identity"
        configured = self.config.get("seed", self.seed)
        return None if configured == self.seed else f"its seed is {self.seed} and {configured}"

    @property
    def unpublishable(self) -> str | None:
        """Why a run must not enter tables; None if it may."""
        if self.debug:
            return "trial run on a few examples (limit or debug)"
        if "test" not in self.scores:
            return "without test scores (evaluate.splits=dev)"
        return None

    def layer_weights(self, place: str) -> dict[int, float]:
        """The weights of a mix by the encoder's number of the layer; none where a run has a single layer."""
        learnt = self.learnt.get(place)
        if not learnt or self.identity["elmo"].get("layers") != "all":
            return {}
        weights = learnt["weights"]
        layers = learnt.get("layers", range(len(weights)))  # older records have all layers
        return dict(zip(layers, weights, strict=True))


class EnsembleMember(BaseModel):
    """One run of an ensemble."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    condition: str
    seed: int
    encoder: str | None
    scores: FiniteScores
    weights_sha256: str


class EnsembleRecord(Sealed):
    """What several runs predict together, by the mean of their probabilities."""

    kind: Literal["ensemble"] = "ensemble"
    name: str = Field(pattern=FILE_NAME)  # hash of the members
    task: str = Field(pattern=FILE_NAME)
    task_version: int
    metric: str
    source: str
    corpus: str
    size: str
    debug: bool  # of runs on a few examples: never in tables
    members: tuple[EnsembleMember, ...]
    scores: FiniteScores
    examples: dict[str, int]  # by split
    hashes: dict[str, str]  # sha256 of data splits, predictions and counts
    environment: dict[str, Any]

    @property
    def condition(self) -> str | None:
        """What all members share, if they differ in their seeds alone."""
        conditions = {member.condition for member in self.members}
        return conditions.pop() if len(conditions) == 1 else None

    @property
    def unpublishable(self) -> str | None:
        """Why an ensemble never enters tables, if it does not."""
        if self.debug:
            return "an ensemble of runs on a few examples (limit or debug)"
        if "test" not in self.scores:
            return "an ensemble without test scores (evaluate.splits=dev)"
        if len({member.weights_sha256 for member in self.members}) < len(self.members):
            return "an ensemble that has one run twice"
        return None


class Context(BaseModel):
    """One occurrence of a word in its sentence; near: its cosine similarity to the query."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sentence: tuple[str, ...]
    position: int
    near: float | None = None


class ContextRank(BaseModel):
    """At which rank an occurrence stands among the neighbours of another; each sentence counts once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    context: Context
    candidates: str  # which words are neighbours: any, same or other
    rank: int
    total: int  # sentences with a candidate


class ContextNeighbours(BaseModel):
    """An occurrence and its nearest neighbours, the nearest first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: Context
    nearest: list[Context]
    ranks: list[ContextRank] = []  # of an occurrence that was asked about, such as the paper's neighbour


class NeighboursRecord(Sealed):
    """Nearest neighbours of one word, in context and by static vector (the paper's Table 4)."""

    kind: Literal["neighbours"] = "neighbours"
    identity: dict[str, Any]  # the query and the hashes of all inputs
    word: str
    encoder: str
    encoder_fingerprint: str
    layer: int
    corpus: str
    corpus_tokens: int
    occurrences: int  # number of occurrences of the word in the corpus
    contexts: list[ContextNeighbours]
    vectors: str | None  # the file's name
    vectors_sha256: str | None
    static: list[tuple[str, float]]  # words and cosines
    environment: dict[str, Any]


class PerplexityFigures(BaseModel):
    """The perplexity of one reading of a text; a sentence's end is predicted too."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    forward: float
    backward: float
    average: float
    predictions: int  # in each direction


class TextPerplexity(PerplexityFigures):
    """How well a biLM predicts one text if every sentence starts from a fresh state."""

    tokens: int
    oov_rate: float  # share of the tokens outside the vocabulary
    vocabulary_sha256: str  # figures of other vocabularies do not compare
    carried: PerplexityFigures | None = None  # the state carried through the text; older records lack it
    longest: int | None = None  # older records: longer sentences were cut here, and ended by a false mark


class BeforeAndAfter(BaseModel):
    """The perplexity on one text before and after fine-tuning."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    before: TextPerplexity
    after: TextPerplexity


class TrainedBilm(Sealed):
    """How a biLM was trained; a model's `record.json` says the same and more."""

    identity: str  # hash of all that decides the weights
    config: dict[str, Any]  # of the training
    seed: int
    steps: int
    stopped: Literal["patience", "cap"] | None = None  # why training ended; older records do not say
    best_step: int | None = None  # with patience: the step whose weights are kept
    tokens: int
    seconds: float
    objective: str
    products: str
    corpus: dict[str, Any]  # the training text's size and hashes
    vocabulary: dict[str, Any]
    hashes: dict[str, str]  # of the model's files
    environment: dict[str, Any]


class PretrainingRecord(TrainedBilm):
    """How well a pre-trained biLM predicts the held-out part of its text (paper 3.4)."""

    kind: Literal["pretraining"] = "pretraining"
    heldout: TextPerplexity

    @property
    def unpublishable(self) -> str | None:
        """A pre-training that has ended can always be published."""
        return None


class PerplexityRecord(TrainedBilm):
    """A task's dev text before and after a biLM was trained on with its training text (preprint, Table 7)."""

    kind: Literal["perplexity"] = "perplexity"
    finetuned: Finetuning
    streams: dict[str, BeforeAndAfter]

    @property
    def unpublishable(self) -> str | None:
        """Why it never enters tables, if it does not."""
        return "trial run on a few examples (limit)" if self.finetuned.limit is not None else None


AnyRecord = Record | EnsembleRecord | NeighboursRecord | PretrainingRecord | PerplexityRecord
Given = TypeVar("Given")
Made = TypeVar("Made")
RecordType = TypeVar(
    "RecordType", Record, EnsembleRecord, NeighboursRecord, PretrainingRecord, PerplexityRecord
)


def condition_of(identity: Mapping[str, Any]) -> str:
    """The short name of an identity, as used in names of run directories."""
    return hash_value(identity)[:12]


def write_record(path: Path, record: AnyRecord) -> None:
    """Write a record with the hash of its content."""
    write_atomically(path, seal_text(record.model_dump_json(indent=1)).encode())


def keep_sound(act: Callable[[Given], Made], items: Iterable[Given], damaged: list[str]) -> Iterator[Made]:
    """What an action makes of each item; a damaged file is left out, and the reason noted."""
    for item in items:
        try:
            yield act(item)
        except DamagedFileError as error:
            damaged.append(str(error))


def read_record(path: Path) -> Record:
    """A run's record; for a damaged file the error names the file and the remedy."""
    return read_record_of(Record, path)


def read_record_of(kind: type[RecordType], path: Path) -> RecordType:
    """A record of one kind."""
    return form_record(kind, read_content(path), path)


def form_record(kind: type[RecordType], content: Mapping[str, Any], path: Path) -> RecordType:
    """A record of one kind from the values of its file."""
    try:
        record = kind.model_validate({key: value for key, value in content.items() if key != SEAL})
    except ValidationError as error:
        raise _damaged(
            path, f"not a record of this version ({error.error_count()} fields do not fit)"
        ) from None
    if record.contradiction:
        raise _damaged(path, f"not a record: {record.contradiction}")
    return record


REMEDY = "restore the file, or make it again (a run: with force=true)"


def read_content(path: Path, what: str = "record", remedy: str = REMEDY) -> dict[str, Any]:
    """The values of a record's file, checked against its seal."""
    if not path.is_file():  # a directory, a link to nowhere, a pipe
        raise DamagedFileError(f"{path}: not a {what}: not a file; {remedy}")
    try:
        return read_sealed(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DamagedFileError(f"{path}: not a {what}: {error}; {remedy}") from None


def _damaged(path: Path, reason: str) -> DamagedFileError:
    return DamagedFileError(f"{path}: {reason}; {REMEDY}")


def read_model_record(path: Path) -> PretrainingRecord | PerplexityRecord | None:
    """What a model's record says of perplexities; nothing where the training has not ended."""
    remedy = f"move {path.parent} away to train it again"
    content = read_content(path, "record of a biLM", remedy)
    if not content.get("finished"):
        return None
    kind = PerplexityRecord if content.get("finetuned") else PretrainingRecord
    known = {key: content[key] for key in kind.model_fields.keys() & content.keys() - {"kind", SEAL}}
    try:
        return kind.model_validate(known)
    except ValidationError:
        raise DamagedFileError(f"{path}: not a record of a biLM; {remedy}") from None


def drop_directories(values: Any) -> Any:
    """The same values without the directories of a machine: of an absolute path its last name is left."""
    if isinstance(values, Mapping):
        return {key: drop_directories(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [drop_directories(value) for value in values]
    if isinstance(values, str) and PurePath(values).is_absolute():
        return PurePath(values).name
    return values


@dataclass(frozen=True, eq=False)
class CountTable:
    """The counts of a split as a matrix: a row for each example in file order, a column for each name."""

    columns: tuple[str, ...]
    matrix: np.ndarray

    def __len__(self) -> int:
        return len(self.matrix)

    def rows(self) -> Iterator[Counts]:
        """The counts of each example."""
        for row in self.matrix:
            yield dict(zip(self.columns, row.tolist(), strict=True))

    @property
    def total(self) -> Counts:
        """The sum over all examples, which decides the score."""
        return dict(zip(self.columns, self.matrix.sum(axis=0).tolist(), strict=True))


def tabulate(counts: Mapping[str, Sequence[Counts]]) -> dict[str, CountTable]:
    """Counts by split as matrices that have the same columns."""
    columns = tuple(sorted({name for rows in counts.values() for row in rows for name in row}))
    found = {}
    for split, rows in counts.items():
        values = [[row.get(name, 0.0) for name in columns] for row in rows]
        matrix = np.array(values, dtype=np.float64).reshape(len(rows), len(columns))
        found[split] = CountTable(columns, matrix)
    return found


def write_counts(path: Path, counts: Mapping[str, Sequence[Counts]]) -> None:
    """Counts by split as one npz: a matrix per split, with the column names stored once."""
    tables = tabulate(counts)
    columns = next((table.columns for table in tables.values()), ())
    arrays: dict[str, Any] = {split: table.matrix for split, table in tables.items()}
    with atomic_file(path) as file:
        np.savez_compressed(file, columns=np.array(columns, dtype=str), **arrays)


def read_counts(path: Path) -> dict[str, CountTable]:
    """Counts by split; nothing in the file is executed."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            columns = tuple(str(name) for name in archive["columns"])
            found = {
                split: CountTable(columns, archive[split].astype(np.float64, order="C"))
                for split in archive.files
                if split != "columns"
            }
            if any(table.matrix.shape != (len(table), len(columns)) for table in found.values()):
                raise ValueError("a matrix without a column for each name")
            return found
    except (OSError, ValueError, TypeError, AttributeError, LookupError, EOFError, BadZipFile, zlib.error):
        raise DamagedFileError(f"{path}: not a file of counts; publish the run again") from None


def predictions_file(split: str) -> str:
    """The name of a file of predictions."""
    return f"predictions-{split}.jsonl"


def write_predictions(path: Path, rows: Iterable[tuple[str, Any]]) -> None:
    """One line of JSON per example: its id and the prediction."""
    lines = [json.dumps({"id": i, "prediction": p}, ensure_ascii=False) for i, p in rows]
    write_atomically(path, ("\n".join(lines) + "\n").encode())
