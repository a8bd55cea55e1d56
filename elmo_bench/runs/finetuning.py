"""A biLM trained on with the text of a task, without labels (paper A.1): a model of its own, made once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from elmo_bench import sources
from elmo_bench.bilm.layout import read_options
from elmo_bench.bilm.settings import BilmConfig, BilmOptions, LimitsConfig, ModelName, PretrainConfig
from elmo_bench.bilm.verification import read_finished
from elmo_bench.config import (
    Config,
    DataConfig,
    EncoderConfig,
    PathsConfig,
    TaskConfig,
    TrainerConfig,
    read_config,
)
from elmo_bench.data.text import TargetVocabulary, TextCorpus
from elmo_bench.encoders.find import choose_plugin
from elmo_bench.encoders.protocol import EncoderContext
from elmo_bench.files import make_once
from elmo_bench.hashing import hash_value
from elmo_bench.plugins import load_reader
from elmo_bench.runs.selection import choose_examples, read_examples
from elmo_bench.sources import Corpus
from elmo_bench.task import AnyTask, Example
from elmo_bench.types import Log, UsageError, Words

TRAINING_FILE = "train.txt"
STREAM_FILES = "dev-*.txt"
FIRST_SEED = 1  # the default of conf/finetune.yaml and conf/tuning


class Finetuning(Config):
    """Which encoder is trained on with which text, and how."""

    name: ModelName | None  # of the model's directory
    task: TaskConfig
    encoder: EncoderConfig
    data: DataConfig
    bilm: dict[str, Any]  # of BilmConfig, but for what the encoder decides
    trainer: TrainerConfig
    limits: LimitsConfig = LimitsConfig()
    seed: int = Field(ge=0, lt=2**31)
    paths: PathsConfig

    def corpus(self, log: Log) -> Corpus:
        """The training and dev files; test is never opened."""
        return sources.prepare(self.task, self.data, self.paths, log, ("train", "dev"))

    def directory(self, corpus: Corpus) -> Path:
        """Where the model is or will be."""
        return self.paths.models / (self.name or self._default_name(corpus))

    def _default_name(self, corpus: Corpus) -> str:
        """Every seed has a model of its own; the first is the one that runs read unless told otherwise."""
        seed = f"-s{self.seed}" if self.seed != FIRST_SEED else ""
        return f"{self.encoder.own_name}-{self.task.name}-{corpus.name}{seed}"

    def facts(self, corpus: Corpus) -> dict[str, Any]:
        """What is trained on with what, for the record."""
        return {
            "encoder": self.encoder.own_name,
            "task": self.task.name,
            "source": corpus.source,
            "corpus": corpus.name,
            "data_sha256": corpus.fingerprints(),
            **({"fraction": self.data.fraction} if self.data.fraction < 1 else {}),
            **({"limit": self.data.limit} if self.data.limit else {}),
        }


def is_made(finetuning: Finetuning, corpus: Corpus) -> bool:
    """Whether the model is there, as its record says; nothing is computed."""
    record = read_finished(finetuning.directory(corpus))
    wanted = {"seed": finetuning.seed, "finished": True, "finetuned": finetuning.facts(corpus)}
    return record is not None and contains(record, {**wanted, "config": finetuning.bilm})


def make(finetuning: Finetuning, corpus: Corpus, log: Log) -> Path:
    """Train until the end or a limit, unless that is done; gives the model's directory."""
    # Imported only to train: it brings PyTorch and Lightning along.
    from elmo_bench.bilm.training.pretraining import Pretraining, pretrain
    from elmo_bench.runs.environment import describe_environment

    start, options, vocabulary = find_start(finetuning, log)
    target = finetuning.directory(corpus)
    config = PretrainConfig(
        bilm=complete_settings(finetuning.bilm, target.name, read_options(options), vocabulary),
        trainer=finetuning.trainer,
        limits=finetuning.limits,
        seed=finetuning.seed,
    )
    text = write_text(finetuning, load_reader(finetuning.task), corpus, log)
    streams = {path.stem.removeprefix("dev-"): path for path in sorted(text.glob(STREAM_FILES))}
    run = Pretraining(
        config,
        TextCorpus((text / TRAINING_FILE,), tuple(streams.values())),
        target=target,
        work=finetuning.paths.runs / "pretraining" / target.name,
        start=start,
        streams=streams,
        facts={"finetuned": finetuning.facts(corpus)},
        environment=describe_environment(),
    )
    return pretrain(run, log)


def find_start(finetuning: Finetuning, log: Log) -> tuple[Path, Path, Path]:
    """The model to start from, with its options and its vocabulary; an encoder that has none is refused."""
    from elmo_bench.bilm.training.language_model import find_language_model

    context = EncoderContext(finetuning.encoder.full_name, finetuning.paths, finetuning.trainer, log)
    start = choose_plugin(finetuning.encoder, context).language_model(context)
    options, _, _, vocabulary = find_language_model(start)
    return start, options, vocabulary


def contains(found: Any, wanted: Any) -> bool:
    """Whether a recorded value says all that is wanted; it may say more, and a missing key is null."""
    if isinstance(found, dict) and isinstance(wanted, Mapping):
        return all(contains(found.get(key), value) for key, value in wanted.items())
    return bool(found == wanted)


def complete_settings(
    settings: Mapping[str, Any], name: str, options: BilmOptions, vocabulary_path: Path
) -> BilmConfig:
    """The schedule of the configuration with the sizes of the encoder."""
    decided = {
        "name": name,
        "architecture": options.model_dump(),
        "vocabulary": len(TargetVocabulary.read(vocabulary_path)),
    }
    if clash := sorted(decided.keys() & settings.keys()):
        raise UsageError(f"bilm.{clash[0]}: the encoder decides this; leave it out")
    return read_config(BilmConfig, {**settings, **decided}, "bilm")


def write_text(finetuning: Finetuning, task: AnyTask, corpus: Corpus, log: Log) -> Path:
    """The task's sentences without labels as text files, written once; dev by stream.

    A sentence counts once, however many questions or verbs it has examples for.
    """
    recipe = hash_value(
        {
            "task": finetuning.task.name,
            "settings": {**finetuning.task.settings, **finetuning.task.text},
            "version": task.version,
            "data": corpus.fingerprints(),
            "fraction": finetuning.data.fraction,
            "limit": finetuning.data.limit,
        }
    )

    def write(directory: Path) -> None:
        examples = read_examples(task, corpus)
        training = choose_examples("train", examples["train"], finetuning.data, None)
        by_stream = gather_streams(task, training)
        write_lines(directory / TRAINING_FILE, (words for rows in by_stream.values() for words in rows))
        for stream, rows in gather_streams(task, examples["dev"]).items():
            write_lines(directory / STREAM_FILES.replace("*", stream), rows)

    return make_once(finetuning.paths.cache / "texts" / f"{finetuning.task.name}-{recipe[:12]}", write, log)


def gather_streams(task: AnyTask, examples: Iterable[Example]) -> dict[str, list[Words]]:
    """Every stream's sequences of tokens, in file order."""
    streams: dict[str, list[Words]] = {}
    for example in examples:
        for stream, sequences in task.sentences(example).items():
            streams.setdefault(stream, []).extend(sequences)
    return streams


def write_lines(path: Path, sentences: Iterable[Words]) -> None:
    """Each different sentence on a line of its own; a token with a blank inside becomes two."""
    lines = dict.fromkeys(" ".join(words) for words in sentences if words)
    path.write_text("".join(f"{' '.join(line.split())}\n" for line in lines), encoding="utf-8")
