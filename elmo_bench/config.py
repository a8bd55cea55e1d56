"""The typed form of everything that a user may change between two runs.

YAML and the command line use plain keys. `read_config` converts them once to these frozen models and refuses
keys that are unknown, missing, mistyped or out of range; the error names the key.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from elmo_bench.types import FILE_NAME, UsageError

UNION_MEMBER = re.compile(r"(?:literal|tuple|dict)\[.*\]|int|str")  # how Pydantic names one of several types


class Config(BaseModel):
    """A frozen group of settings that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class ElmoConfig(Config):
    """How the encoder's layers enter the task model; `where: none` is the baseline."""

    where: Literal["none", "input", "output", "both"]
    layers: Literal["all", "last"] | int
    lam: float = Field(alias="lambda", ge=0, allow_inf_nan=False)  # `lambda` is a Python keyword
    layer_norm: bool
    dropout: float = Field(ge=0, lt=1)
    gamma: Literal["learned", "fixed"]


class ElmoDefaults(Config):
    """The paper's setting for one task; `conf/elmo/*.yaml` reads it."""

    where: Literal["input", "output", "both"]
    lam: float = Field(alias="lambda", ge=0, allow_inf_nan=False)
    layer_norm: bool
    dropout: float = Field(ge=0, lt=1)
    layers: Literal["all", "last"] | int = "all"
    gamma: Literal["learned", "fixed"] = "learned"


class OptimiserConfig(Config):
    """The optimiser of a head."""

    name: Literal["adam", "adadelta", "adagrad"]
    lr: float = Field(gt=0)
    rho: float = Field(default=0.95, gt=0, lt=1)  # adadelta only
    eps: float = Field(default=1e-8, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)


class ClipConfig(Config):
    """How the gradient of a head is limited: by its norm or value by value, at which size."""

    by: Literal["norm", "value", "none"]
    at: float = Field(default=1.0, gt=0)


class TrainingConfig(Config):
    """The training of a head; `one_pass` heads read only the batch size."""

    optimiser: OptimiserConfig
    clip: ClipConfig
    schedule: Literal["constant", "halving", "staircase"] = "constant"  # halving: when dev does not improve
    decay: float = Field(default=0.999, gt=0, le=1)  # staircase only
    decay_every: int = Field(default=100, ge=1)  # staircase only, in steps
    batch_size: int = Field(ge=1)
    bucket_by_length: bool = False
    evaluate_every: int | None = Field(default=None, ge=1)  # updates between dev scores; null: every epoch
    epochs: int = Field(ge=1)  # the cap, in epochs of the whole training set, also if the run uses a fraction
    patience: int = Field(ge=1)  # training stops after this number of dev scores without a new best
    least_updates: int = Field(default=0, ge=0)  # number of updates before which patience has no effect
    ema: float = Field(default=0.0, ge=0, lt=1)  # weight averaging; 0 is off


class HubConfig(Config):
    """A repository of data files on the Hugging Face Hub, and the expected size of the corpus."""

    repository: str  # or a directory of the same layout
    revision: str
    name: str | None = None  # name of the configuration, if there are several
    kind: Literal["tokens", "pairs", "questions"]
    columns: tuple[str, ...]  # columns of the repository, in the order of `sources.hub`
    splits: dict[str, str]  # the repository's names of train, dev and test
    rows: dict[str, int] = Field(default_factory=dict)  # expected by split
    tokens: dict[str, int] = Field(default_factory=dict)


class CorpusConfig(Config):
    """One corpus of one source: the files to read, and how a user obtains them."""

    format: str
    train: str | tuple[str, ...] | None = None
    dev: str | tuple[str, ...] | None = None
    test: str | tuple[str, ...] | None = None
    options: dict[str, Any] = Field(default_factory=dict)  # for the reader
    licence: str = ""
    get: str = ""  # how to obtain it
    hub: HubConfig | None = None  # used if the files do not exist
    note: str = ""  # for captions
    documents: bool = False  # the files say where documents begin, for encoder.context=document


class RowConfig(Config):
    """One row of a table: a number of the paper, the runs of one condition, or both."""

    label: str = ""  # default: the paper's key
    # Key in the paper's table, or TABLE/KEY or a longer path to another table's number.
    paper: str | None = None
    elmo: Literal["none"] | dict[str, Any] | None = None  # settings that differ from the task's defaults
    words: Literal["usual", "none", "any"] = "usual"  # word vectors; any: all but none
    settings: dict[str, Any] = Field(default_factory=dict)  # of the task, dotted, where not the usual ones
    encoder: str = "own"  # tuned: what fine-tuning on the task's text made of the own one; or another's name
    against: str | None = None  # label of the row that the gain is over; by default the first without ELMo
    ensemble: bool = False  # several runs of the condition as one (`python -m elmo_bench ensemble`)
    printed_gain: bool = False  # the paper prints its gain; else it is the difference of its numbers
    paper_gain: str | None = None  # path to a gain that the paper prints without the numbers behind it


TableKind = Literal[
    "scores", "sample_efficiency", "layer_weights", "neighbours", "perplexities", "encoders", "layers"
]


class TableConfig(Config):
    """How the report shows the runs of an experiment (`hydra.sweeper.table` of its file)."""

    kind: TableKind = "scores"
    position: float = 100  # in the report: lowest first
    title: str
    about: str = ""  # the question that the table answers, in words
    aside: bool = False  # no part of the paper: the page folds it
    split: Literal["dev", "test"] = "test"
    paper: str | None = None  # name of the table in elmo_bench/report/paper_results.json
    all_systems: bool = False  # show every row of the paper's table; it has one task
    rows: tuple[RowConfig, ...] = ()
    main_row: str = ""  # its label: an encoder without runs of this row has no such table
    tasks: tuple[str, ...] = ()  # default: those that the experiment sweeps
    statistics: dict[str, str] = Field(default_factory=dict)  # label: score, instead of the task's metric
    least: int = 1  # training examples of a point; by default what the experiment has as data.least
    by_source: dict[str, str] = Field(default_factory=dict)  # experiments that fill it on other sources
    trained_on: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By encoder, as records name it: tasks on whose data it was trained. Tables mark its gains there."""


Direction = Literal["greater", "smaller", "at least", "at most", "equivalent"]
"""The range of an effect if a claim is true: above 0, below 0, or within a margin around 0."""

Basis = Literal["seeds and examples", "examples", "seeds"]
"""What a test resamples: both (a two-level bootstrap), only test examples, or one value per seed."""


class FindingConfig(Config):
    """One claim. Its effect is the second condition's score minus the first's, task by task."""

    claim: str
    sentence: str = ""  # quoted from the paper; empty if the claim is ours
    section: str = ""
    kind: Literal["score", "updates", "perplexity", "layer_weight"] = "score"
    tasks: tuple[str, ...] = Field(min_length=1)
    first: dict[str, Any] | None = None  # overrides as for run.py, such as elmo.layers: last
    second: dict[str, Any] = Field(default_factory=dict)
    metric: str | None = None  # default: the score that dev chooses by
    split: Literal["dev", "test"] = "test"
    place: Literal["input", "output"] = "input"  # layer_weight only, like the next
    layer: int = Field(default=1, ge=0)
    direction: Direction
    margin: float = Field(default=0.0, ge=0)
    test: Basis
    paper: dict[Literal["first", "second", "gain", "stated"], str] = Field(default_factory=dict)
    """The paths of the paper's numbers in paper_results.json; {task} and {text} are the names there."""

    @model_validator(mode="after")
    def _check(self) -> FindingConfig:
        if (self.kind in ("score", "updates")) != (self.first is not None):
            raise ValueError(
                f"kind {self.kind} {'needs' if self.first is None else 'has no'} first condition"
            )
        if (self.direction in ("at least", "at most", "equivalent")) != (self.margin > 0):
            raise ValueError(f"direction {self.direction!r} does not go with margin {self.margin:g}")
        return self


class FamilyConfig(Config):
    """The findings of one file, conf/findings/<name>.yaml; their p-values are adjusted together."""

    title: str
    position: float = 100  # lowest first
    sources: tuple[str, ...] = ()  # sources of the data of the findings; () means all
    experiment: str | None = None  # experiment that produces the records for findings of kind perplexity
    findings: dict[str, FindingConfig]


class PaperConfig(Config):
    """A task's rows in the paper's tables."""

    name: str | None = None  # row of the task in tables of several tasks
    table: TableConfig | None = None  # table that compares systems for only this task
    texts: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # row of perplexities: streams; () is all


class TaskConfig(Config):
    """One file of conf/task: plug-in, the paper's settings, sources and corpora."""

    name: str = Field(pattern=FILE_NAME)
    plugin: str  # dotted path of the task's class
    score: str = ""  # dotted path of the function that its `score` calls, to find it without PyTorch
    title: str = ""  # name in tables
    paper: PaperConfig = PaperConfig()
    settings: dict[str, Any]  # the fields of the plug-in
    captions: dict[str, dict[Any, str]] = Field(default_factory=dict)  # by setting, dotted, and its value
    as_before: dict[str, Any] = Field(default_factory=dict)  # settings that older runs lack: what they had
    text: dict[str, Any] = Field(default_factory=dict)  # settings that are replaced when only text is read
    training: TrainingConfig
    elmo: ElmoDefaults
    words: dict[str, Any] = Field(default_factory=dict)  # read by conf/words
    sources: dict[str, dict[str, Any]]


class WordsConfig(Config):
    """The task's own static word vectors."""

    kind: Literal["file", "random", "none"]
    file: Path | None = None
    # A second file, below the directory of the first: both vectors of a word, joined.
    beside: Path | None = None
    dim: int = Field(default=0, ge=0)  # of random vectors; a file decides its own dimension
    trainable: bool
    get: dict[str, str] = Field(default_factory=dict)  # instructions to obtain a file, by its name

    @property
    def files(self) -> tuple[Path, ...]:
        """The vector files that a run reads."""
        if self.kind != "file" or self.file is None:
            return ()
        return (self.file,) if self.beside is None else (self.file, self.file.parent / self.beside)


TextContext = Literal["sentence", "document"]
"""What an encoder reads together: one sentence, or all sentences of its document."""

UNTRAINED = "untrained_"  # prefix of the name of the encoder with the same sizes


class EncoderConfig(Config):
    """One file of conf/encoder: a plug-in; all other keys are its settings, which the plug-in checks."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(pattern=FILE_NAME)
    plugin: str  # dotted path of the encoder's class
    untrained: bool = False  # a twin with random weights, as a control
    device: str = "cpu"  # where it computes; not part of an identity
    layers: tuple[int, ...] | None = None  # the layers that runs may read; null: all
    context: TextContext = "sentence"  # older records do not have it
    named_after: str | None = None  # the setting that says which one: a path or an identifier

    @property
    def own_name(self) -> str:
        """Its name where its kind is clear: the last part of the setting that it is named after."""
        if self.named_after is None:
            return self.name
        return str(self.settings.get(self.named_after, "")).rstrip("/").rpartition("/")[2] or self.name

    @property
    def full_name(self) -> str:
        """The encoder's name in records and tables, such as small_open, or model A for the directory A."""
        name = self.name if self.own_name == self.name else f"{self.name} {self.own_name}"
        return f"{UNTRAINED}{name}" if self.untrained else name

    @property
    def settings(self) -> dict[str, Any]:
        """The fields of the plug-in."""
        return dict(self.model_extra or {})


class TuningConfig(Config):
    """Whether the encoder is first trained on with the text of the run's task (paper A.1)."""

    text: Literal["none", "task"]
    seed: int = Field(default=1, ge=0, lt=2**31)
    bilm: dict[str, Any] = Field(default_factory=dict)  # conf/schedule/finetuning.yaml


Source = Literal["sample", "open", "paper", "files"]
SOURCES: tuple[Source, ...] = get_args(Source)


class DataConfig(Config):
    """The source of the examples and the number to use."""

    source: Source
    corpus: str | None = None
    repository: str | None = None  # paper only: instead of the one on the Hub, such as a local copy
    fraction: float = Field(default=1.0, gt=0, le=1)  # of the training set; fractions are nested and seeded
    limit: int | None = Field(default=None, ge=1)  # number of training examples
    least: int = Field(default=1, ge=1)  # training examples; with fewer there is no run
    format: str | None = None  # files only, like the three below
    train: str | tuple[str, ...] | None = None
    dev: str | tuple[str, ...] | None = None
    test: str | tuple[str, ...] | None = None


class EvaluateConfig(Config):
    """The splits that a trained head is scored on; `dev`, for choosing settings, never reads test data."""

    splits: Literal["all", "dev"]


StoredType = Literal["float16", "float32", "int8"]


class StoreConfig(Config):
    """Where the encoder's layers are stored, in which type, and which of them."""

    mode: Literal["disk", "ram", "off"]
    dtype: StoredType
    # Those that a run stores when it encodes.
    layers: Literal["read", "all"] | tuple[int | Literal["last"], ...] = "read"


class TrainerConfig(Config):
    """On what a training computes, and how often it saves a checkpoint."""

    accelerator: Literal["cpu", "gpu", "auto"]
    devices: int = Field(ge=1)  # of each machine
    nodes: int = Field(default=1, ge=1)  # machines; older records do not have it
    precision: Literal["32-true", "bf16-mixed", "16-mixed"]
    threads: int | None = Field(default=None, ge=1)
    checkpoint_seconds: float = Field(default=60.0, ge=0)
    # A head's batch is computed in so many parts, one after the other, whose gradients are added: that needs
    # less memory. 1 is not dumped, so that the identities of earlier runs do not change.
    accumulate: int = Field(default=1, ge=1, exclude_if=lambda parts: parts == 1)


class TrackingConfig(Config):
    """Who is told about the progress of a run, and under which names."""

    kind: Literal["off", "wandb", "csv", "tensorboard"]
    project: str = "elmo_bench"
    group: str | None = None
    tags: tuple[str, ...] = ()


def _named(path: Any) -> Any:
    """An empty path would be the current directory, and mostly comes of a variable that is not set."""
    if path == "":
        raise ValueError("expected a directory (. is the current one; is a variable of the shell not set?)")
    return path


Directory = Annotated[Path, BeforeValidator(_named)]


class PathsConfig(Config):
    """Directories on this machine; never part of a run's identity."""

    data: Directory
    local: Directory  # corpora under the user's own licence
    vectors: Directory
    models: Directory
    runs: Directory
    records: Directory
    cache: Directory


class EncodeConfig(Config):
    """An encoder alone (conf/encode.yaml)."""

    encoder: EncoderConfig
    trainer: TrainerConfig
    paths: PathsConfig


class RunConfig(Config):
    """One run, or one job of a sweep."""

    task: TaskConfig
    elmo: ElmoConfig
    encoder: EncoderConfig
    tuning: TuningConfig = TuningConfig(text="none")  # older records do not have it
    words: WordsConfig
    data: DataConfig
    size: str
    size_fraction: float = Field(default=1.0, gt=0, le=1)  # of the training set, prescribed by the size
    evaluate: EvaluateConfig = EvaluateConfig(splits="all")  # older records do not have it
    store: StoreConfig
    trainer: TrainerConfig
    tracking: TrackingConfig
    paths: PathsConfig
    seed: int = Field(ge=0, lt=2**31)
    limit: int | None = Field(default=None, ge=1)  # number of examples of every split, for trial runs
    debug: Literal["fast"] | None = None
    force: bool = False
    plan: bool = False  # print what would be run, and start nothing


ConfigType = TypeVar("ConfigType", bound=BaseModel)


def read_config(kind: type[ConfigType], raw: Mapping[str, Any], where: str = "") -> ConfigType:
    """Validate plain values, or raise a UsageError that names every key that is wrong."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise UsageError(explain_validation(error, kind.model_fields, where)) from None


def explain_validation(error: ValidationError, fields: Mapping[str, Any], where: str = "") -> str:
    """One line per wrong key: what was expected, and the value."""
    lines: dict[tuple[str, str], list[str]] = {}  # by key and value, of which several types may be allowed
    for problem in error.errors():
        key = ".".join([*filter(None, [where]), *(str(part) for part in _key_of(problem))])
        # A group of settings is not repeated.
        got = "" if isinstance(problem["input"], Mapping) else f", got {problem['input']!r}"
        if problem["type"] == "extra_forbidden":
            got, message = "", f"there is no such key{nearest(str(problem['loc'][-1]), fields)}"
        elif problem["type"] == "missing":
            got, message = "", "a value is needed"
        else:
            message = str(problem["msg"]).removeprefix("Value error, ")
            message = f"{message[:1].lower()}{message[1:]}"
        lines.setdefault((key, got), []).append(message)
    return "\n".join(f"{key}: {', or '.join(messages)}{got}" for (key, got), messages in lines.items())


def _key_of(problem: Mapping[str, Any]) -> tuple[str | int, ...]:
    """The key of a problem, without the type that Pydantic adds for each type of a union."""
    kept = [part for part in problem["loc"] if isinstance(part, int) or not UNION_MEMBER.fullmatch(part)]
    return tuple(kept)


def nearest(word: str, choices: Mapping[str, Any] | list[str]) -> str:
    """A hint at the closest known name; empty if none is close."""
    match = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return f"; did you mean {match[0]!r}?" if match else ""
