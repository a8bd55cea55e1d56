"""Check everything about a run that can be checked before it computes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from torch import nn

from elmo_bench.config import RunConfig
from elmo_bench.data.vocabulary import UNKNOWN, Vocabularies, Vocabulary
from elmo_bench.data.word_table import WordTable
from elmo_bench.encoders.injection import Injection
from elmo_bench.encoders.layers import layers_read, layers_stored, spell_layers
from elmo_bench.encoders.protocol import Encoder, EncoderCard
from elmo_bench.encoders.shards import STORE, in_units
from elmo_bench.encoders.store import Store
from elmo_bench.files import nearest_directory
from elmo_bench.identity import identify
from elmo_bench.plugins import load_task
from elmo_bench.records import RUN_RECORD
from elmo_bench.runs.encoder import find_run_encoder, plan_run_encoder
from elmo_bench.runs.excerpts import check_documents, texts_of
from elmo_bench.runs.inputs import read_words, sentences_of
from elmo_bench.runs.preparation import find_corpus, hash_words, run_directory
from elmo_bench.runs.selection import choose_examples, read_examples
from elmo_bench.runs.tracking import require_tracker
from elmo_bench.sources import Corpus
from elmo_bench.task import AnyTask, Example, score_by_metric
from elmo_bench.tensors import Widths, check_device
from elmo_bench.training.devices import check_devices, refuse_impossible
from elmo_bench.types import BenchError, Log, UsageError

INDEXED = 100  # examples of each split that are indexed, to check that this works


@dataclass(frozen=True)
class CheckResult:
    """The result of checking one part of a run: some lines that describe it, or its error."""

    part: str
    lines: tuple[str, ...]
    error: BenchError | None = None


@dataclass
class Inspection:
    """The parts of one run, each read on first use; a part that fails is reported once."""

    config: RunConfig
    log: Log
    _failed: set[str] = field(default_factory=set)

    def results(self) -> list[CheckResult]:
        """Every part in the order in which a run reads them; what needs a failed part is skipped."""
        parts: list[tuple[str, tuple[str, ...], Callable[[], Sequence[str]]]] = [
            ("task", (), self._describe_task),
            ("trainer", (), self._describe_trainer),
            ("data", ("task",), self._describe_data),
            ("words", ("data",), self._describe_words),
            ("encoder", (), self._describe_encoder),
            ("head", ("words", "encoder"), self._describe_head),
            ("store", ("data", "encoder"), self._describe_store),
            ("run", ("data", "words", "encoder"), self._describe_run),
        ]
        found = []
        for name, needed, describe in parts:
            if self._failed.intersection(needed):
                self._failed.add(name)
                continue
            try:
                found.append(CheckResult(name, tuple(describe())))
            except BenchError as error:
                self._failed.add(name)
                found.append(CheckResult(name, (), error))
        return found

    @cached_property
    def task(self) -> AnyTask:
        """The task's plug-in with its settings."""
        return load_task(self.config.task)

    @cached_property
    def corpus(self) -> Corpus:
        """The files that the run reads."""
        return find_corpus(self.config, self.log)

    @cached_property
    def everything(self) -> dict[str, list[Example]]:
        """Every example of every split."""
        return read_examples(self.task, self.corpus)

    @cached_property
    def examples(self) -> dict[str, list[Example]]:
        """The examples that the run uses."""
        config = self.config
        return {
            split: choose_examples(split, rows, config.data, config.limit)
            for split, rows in self.everything.items()
        }

    @cached_property
    def table(self) -> WordTable:
        """The task's own word vectors."""
        hash_words(self.config)  # fails if the file does not exist
        return read_words(self.config, sentences_of(self.task, self.examples["train"]), self.log)

    @cached_property
    def named(self) -> dict[str, Vocabulary]:
        """The task's vocabularies by name."""
        return dict(self.task.vocabularies(self.examples["train"]))

    @cached_property
    def card(self) -> EncoderCard | None:
        """The encoder's sizes, also for an encoder that is not pre-trained yet."""
        config = self.config
        if config.elmo.where == "none":
            return None
        planned = plan_run_encoder(config, self.log)
        if planned is not None:
            return planned.card
        found, _ = find_run_encoder(config, self.log)
        return found.card

    @cached_property
    def layers(self) -> tuple[int, ...]:
        """The layers of the encoder that the run reads."""
        return layers_read(self.config, self.card.layer_count) if self.card else ()

    def _describe_task(self) -> list[str]:
        return [f"{self.config.task.plugin}, version {self.task.version}, metric {self.task.metric}"]

    def _describe_trainer(self) -> list[str]:
        require_tracker(self.config.tracking)
        trainer = self.config.trainer
        refuse_impossible(trainer)
        check_devices(trainer)
        if self.config.elmo.where != "none":
            check_device(self.config.encoder.device, "encoder.device")
        return [f"{trainer.accelerator}, precision {trainer.precision}"]

    def _describe_data(self) -> list[str]:
        lines = [f"{self.corpus.name} ({self.corpus.source}), format {self.corpus.config.format}"]
        for split, rows in self.examples.items():
            whole = len(self.everything[split])
            of = f" of {whole:,}" if whole != len(rows) else ""
            tokens = sum(map(len, sentences_of(self.task, rows)))
            lines.append(f"{split:5} {len(rows):,}{of} examples, {tokens:,} tokens, {self._reachable(rows)}")
        for name, vocabulary in self.named.items():
            lines.append(f"{name}: {len(vocabulary):,} in training{self._strangers(name, vocabulary)}")
        return lines

    def _reachable(self, rows: Sequence[Example]) -> str:
        """The score of the gold answers against themselves; below 100 if the head cannot express some."""
        counts = [self.task.count(row, self.task.gold(row)) for row in rows]
        return f"gold scores {score_by_metric(self.task, counts):.2f}"

    def _strangers(self, name: str, vocabulary: Vocabulary) -> str:
        """The labels that occur only in dev or test, so that no model can learn them."""
        if UNKNOWN in vocabulary:
            return ""
        parts = []
        for split in sorted(self.examples.keys() - {"train"}):
            others = self.task.vocabularies(self.examples[split])[name].items
            missing = [item for item in others if item not in vocabulary]
            if missing:
                shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
                parts.append(f"; {len(missing)} in {split} that training lacks ({shown})")
        return "".join(parts)

    def _describe_words(self) -> list[str]:
        table = self.table
        if not table.dim:
            return ["none"]
        unknown = table.coverage(sentences_of(self.task, self.examples["dev"]))["unknown"]
        return [
            f"{len(table.words):,} of {table.dim} dimensions; {unknown:.1f} % of the dev tokens are unknown"
        ]

    def _describe_encoder(self) -> list[str]:
        card = self.card
        if card is None:
            return ["none: this is the baseline"]
        later = "" if card.fingerprint else "; it will be pre-trained when first needed"
        every = spell_layers(range(card.layer_count))
        read = "" if len(self.layers) == card.layer_count else f"; the run reads {spell_layers(self.layers)}"
        return [f"{card.name}: {every}, {card.dim} dimensions{read}{later}"]

    def _describe_head(self) -> list[str]:
        card, config = self.card, self.config
        injection = Injection(config.elmo, self.layers, card.dim if card else 0)
        vocabularies = Vocabularies(self.table, self.named)
        for rows in self.examples.values():
            for row in rows[:INDEXED]:
                self.task.index(row, vocabularies)
        return [self._describe_parameters(vocabularies, injection.widths)]

    def _describe_parameters(self, vocabularies: Vocabularies, widths: Widths) -> str:
        head = self.task.build_head(vocabularies, widths)
        assert isinstance(head, nn.Module)
        weights = sum(weight.numel() for weight in head.parameters())
        places = f"ELMo {widths.at_input} wide at input, {widths.at_output} at output"
        return f"{type(head).__name__}: {weights:,} weights; {places}"

    def _describe_store(self) -> list[str]:
        card, config = self.card, self.config
        if card is None:
            return ["nothing is encoded"]
        stored = layers_stored(config, card.layer_count)
        store = Store(config.paths.cache / STORE, card, _refuse, config.store.dtype)
        rows = self.examples if config.limit else self.everything
        context = config.encoder.context
        check_documents(self.task, self.everything, context, self.corpus.name)
        plans = [store.plan(texts_of(self.task, split, context)) for split in rows.values()]
        tokens = sum(plan.tokens for plan in plans)
        token_bytes = store.token_bytes(stored)
        needed = tokens * token_bytes
        free = shutil.disk_usage(nearest_directory(config.paths.cache)).free
        line = (
            f"{tokens:,} tokens x {token_bytes:,} bytes = {in_units(needed)} "
            f"for {spell_layers(stored)}; {in_units(free)} free"
        )
        if config.store.mode == "disk" and needed > free:
            raise UsageError(f"{line}: it may not fit; use store.mode=off or paths.cache=DIR")
        return [f"{line} (mode {config.store.mode}; stored layers are not computed again)"]

    def _describe_run(self) -> list[str]:
        card, config = self.card, self.config
        if card and not card.fingerprint:
            return ["its directory is known once the encoder is pre-trained"]
        identity = identify(
            config,
            self.task.version,
            self.corpus.fingerprints(),
            card.fingerprint if card else None,
            hash_words(config),
        )
        directory = run_directory(config, identity)
        state = "done already" if (directory / RUN_RECORD).exists() else "not done yet"
        return [f"{directory}: {state}"]


def find_substitutes(config: RunConfig, paper: RunConfig) -> list[str]:
    """The inputs of a run that replace the paper's inputs, which the second configuration names."""
    found = []
    if config.elmo.where != "none" and config.encoder.name != paper.encoder.name:
        found.append(f"encoder={config.encoder.name} replaces the paper's {paper.encoder.name}")
    ours, theirs = (_name_vectors(one) for one in (config, paper))
    if config.words.kind != "none" and ours != theirs:
        found.append(f"the word vectors {ours} replace the paper's {theirs}")
    return found


def _name_vectors(config: RunConfig) -> str:
    return " and ".join(file.name for file in config.words.files) or config.words.kind


def _refuse() -> Encoder:
    raise BenchError("a check must not encode anything")
