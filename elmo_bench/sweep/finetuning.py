"""From the composed configuration of a fine-tuning to a biLM trained on with a task's text (paper A.1)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from elmo_bench import sources
from elmo_bench.bilm.settings import BilmConfig, BilmOptions, LimitsConfig, PretrainConfig
from elmo_bench.config import (
    Config,
    DataConfig,
    EncoderConfig,
    PathsConfig,
    TaskConfig,
    TrainerConfig,
    WordsConfig,
    read_config,
)
from elmo_bench.data.text import TargetVocabulary, TextCorpus
from elmo_bench.files import make_once
from elmo_bench.hashing import hash_value
from elmo_bench.plugins import load_reader
from elmo_bench.run.selection import choose_examples, read_examples
from elmo_bench.sources import Corpus
from elmo_bench.sweep.kinds import JobKind
from elmo_bench.sweep.plan import Target
from elmo_bench.sweep.printing import print_line, print_once
from elmo_bench.task import AnyTask, Example
from elmo_bench.types import Say, UsageError, Words

TRAINING_FILE = "train.txt"
STREAM_FILES = "dev-*.txt"


class FinetuneCommand(Config):
    """What pretrain.py is asked for with finetune=TASK."""

    name: str | None = Field(pattern=r"^[\w.+-]+$")
    task: TaskConfig
    encoder: EncoderConfig
    words: WordsConfig
    data: DataConfig
    bilm: dict[str, Any]  # of BilmConfig, but for what the encoder decides
    trainer: TrainerConfig
    limits: LimitsConfig
    seed: int = Field(ge=0, lt=2**31)
    paths: PathsConfig
    plan: bool = False


def locate_finetuning(command: FinetuneCommand) -> Target:
    """Where the fine-tuned model's record is or will be; nothing is computed."""
    corpus = sources.prepare(command.task, command.data, command.paths, print_once)
    record = command.paths.models / name_model(command, corpus) / "record.json"
    facts = describe_finetuning(command, corpus)
    done = False
    if record.is_file():
        found = json.loads(record.read_bytes())
        settings = {"seed": command.seed, "finished": True, "finetuned": facts}
        done = contains(found, {**settings, "config": command.bilm})
    key = hash_value([facts, command.seed, command.bilm, str(record)])
    return Target(key, record, done, f"fine-tuning on {command.task.name}", None)


def finetune_one(command: FinetuneCommand, typed: Sequence[str]) -> Path:
    """One fine-tuning; its progress is printed."""
    task = load_reader(command.task)
    corpus = sources.prepare(command.task, command.data, command.paths, print_line)
    # Only now what takes seconds to import: a mistyped value is answered at once.
    from elmo_bench.bilm.files import read_options
    from elmo_bench.bilm.training.language_model import find_language_model
    from elmo_bench.bilm.training.pretraining import Pretraining, pretrain
    from elmo_bench.encoders.find import load_plugin
    from elmo_bench.encoders.protocol import EncoderContext
    from elmo_bench.run.environment import describe_environment

    context = EncoderContext(command.encoder.name, command.paths, command.trainer, print_line)
    start = load_plugin(command.encoder).language_model(context)
    options, _, _, vocabulary = find_language_model(start)
    name = name_model(command, corpus)
    config = PretrainConfig(
        bilm=complete_settings(command.bilm, name, read_options(options), vocabulary),
        trainer=command.trainer,
        limits=command.limits,
        seed=command.seed,
    )
    text = write_text(command, task, corpus, print_line)
    streams = {path.stem.removeprefix("dev-"): path for path in sorted(text.glob(STREAM_FILES))}
    run = Pretraining(
        config,
        TextCorpus((text / TRAINING_FILE,), tuple(streams.values())),
        target=command.paths.models / name,
        work=command.paths.runs / "pretraining" / name,
        start=start,
        streams=streams,
        facts={"finetuned": describe_finetuning(command, corpus)},
        environment=describe_environment(),
    )
    return pretrain(run, print_line) / "record.json"


def contains(found: Any, wanted: Any) -> bool:
    """Whether a recorded value says all that is wanted; it may say more."""
    if isinstance(found, dict) and isinstance(wanted, Mapping):
        return all(key in found and contains(found[key], value) for key, value in wanted.items())
    return bool(found == wanted)


def name_model(command: FinetuneCommand, corpus: Corpus) -> str:
    return command.name or f"{base_name(command.encoder)}-{command.task.name}-{corpus.name}"


def describe_finetuning(command: FinetuneCommand, corpus: Corpus) -> dict[str, Any]:
    """What was trained on with what, for the record."""
    return {
        "encoder": base_name(command.encoder),
        "task": command.task.name,
        "source": corpus.source,
        "corpus": corpus.name,
        "data_sha256": corpus.fingerprints(),
        **({"fraction": command.data.fraction} if command.data.fraction < 1 else {}),
        **({"limit": command.data.limit} if command.data.limit else {}),
    }


def base_name(encoder: EncoderConfig) -> str:
    """What an encoder is called; of encoder=model encoder.directory=DIR the directory's name."""
    directory = encoder.settings.get("directory")
    return Path(directory).name if encoder.name == "model" and directory else encoder.name


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


def write_text(command: FinetuneCommand, task: AnyTask, corpus: Corpus, say: Say) -> Path:
    """The task's sentences without labels as text files, written once; dev by stream, test never read from.

    A sentence counts once, however many questions or verbs it has examples for.
    """
    recipe = hash_value(
        {
            "task": command.task.name,
            "settings": {**command.task.settings, **command.task.text},
            "version": task.version,
            "data": corpus.fingerprints(),
            "fraction": command.data.fraction,
            "limit": command.data.limit,
        }
    )

    def write(directory: Path) -> None:
        examples = read_examples(task, corpus)
        training = choose_examples("train", examples["train"], command.data, None)
        by_stream = gather_streams(task, training)
        write_lines(directory / TRAINING_FILE, (words for rows in by_stream.values() for words in rows))
        for stream, rows in gather_streams(task, examples["dev"]).items():
            write_lines(directory / STREAM_FILES.replace("*", stream), rows)

    return make_once(command.paths.cache / "texts" / f"{command.task.name}-{recipe[:12]}", write, say)


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


KIND = JobKind("finetune", FinetuneCommand, finetune_one, locate_finetuning)
