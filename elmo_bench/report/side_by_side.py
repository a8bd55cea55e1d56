"""Several encoders on the same corpora: which runs may be compared, and which of an encoder dev chose."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean
from typing import Any

from elmo_bench.conditions import fingerprint_of, is_baseline, name_encoders
from elmo_bench.records import EncoderFacts, Record
from elmo_bench.report.baseline import has_words, is_whole, rate_of, setting_at_any_rate, words_of
from elmo_bench.report.comparison import Run, Seeds
from elmo_bench.report.inputs import ReportInputs
from elmo_bench.report.published import GENERATED, Wanted, block_of, keep_usual_numbers, rank_source

NO_ENCODER = ""  # the fingerprint of the baseline


@dataclass(frozen=True)
class Column:
    """Runs of one task on one corpus that may be compared: they differ in encoder, words and rate."""

    task: str
    corpus: str
    runs: tuple[Run, ...]

    def choose(self, encoder: str, wanted: Callable[[Record], bool]) -> Seeds:
        """The runs of an encoder, or of the baseline, in the wanted condition that dev chose."""
        conditions = self.conditions(encoder, wanted)
        most = max(map(len, conditions), default=0)
        return max((seeds for seeds in conditions if len(seeds) == most), key=_dev_score, default={})

    def conditions(self, encoder: str, wanted: Callable[[Record], bool]) -> list[Seeds]:
        """The conditions that dev chooses from."""
        found: dict[str, dict[int, Run]] = defaultdict(dict)
        for run in keep_usual_numbers([run for run in self.runs if fingerprint_of(run.record) == encoder]):
            if wanted(run.record):
                found[run.record.condition][run.seed] = run
        return list(found.values())

    def baseline(self) -> Seeds:
        """The runs without an encoder, with the word vectors of the runs with one.

        A probe reads its encoder alone, so its baseline has word vectors where there are such runs.
        """
        words = self._usual_words
        tests: tuple[Callable[[Record], bool], ...] = (
            lambda record: has_words(record) and words_of(record) == words,
            has_words,
            lambda record: True,
        )
        found = (self.choose(NO_ENCODER, test) for test in tests)
        return next(filter(None, found), {})

    def usual(self, record: Record) -> bool:
        """Whether a run has ELMo as its task has it in the paper, and the usual word vectors.

        A probe reads one layer. Which one is best for an encoder is not known before, so any will do. So will
        layer norm before the mix, which an encoder with layers of another scale may need.
        """
        probe = reads_one_layer(record)
        return self._fits(record, {"layers": record.identity["elmo"].get("layers")} if probe else {})

    def on_layer(self, layers: int | str) -> Callable[[Record], bool]:
        """Whether a run has these layers, and all else as usual."""
        return lambda record: self._fits(record, {"layers": layers})

    def _fits(self, record: Record, elmo: Mapping[str, Any]) -> bool:
        own = record.identity["elmo"]
        free = {"layer_norm": own["layer_norm"]} if "layer_norm" in own else {}
        return words_of(record) == self._usual_words and Wanted({**elmo, **free}).fits(record)

    @cached_property
    def _usual_words(self) -> str:
        counts = Counter(words_of(run.record) for run in self.runs if not is_baseline(run.record))
        return max(counts, key=lambda words: (counts[words], words), default="")


@dataclass(frozen=True)
class Field:
    """All encoders that one source has runs of, at one size."""

    source: str
    size: str
    columns: tuple[Column, ...]

    @property
    def place(self) -> str:
        """Source and size in words."""
        generated = " (generated world)" if self.source == GENERATED else ""
        return f"source {self.source}{generated}, size {self.size}"

    @cached_property
    def names(self) -> dict[str, str]:
        """The encoders by fingerprint: those with fewest parameters first; no two have one name."""
        names = name_encoders(record for record in self._records if not is_baseline(record))
        facts = self.facts

        def cost(fingerprint: str) -> tuple[int, str]:
            known = facts.get(fingerprint)
            return (known.parameters or 0 if known else 0), names[fingerprint]

        return {fingerprint: names[fingerprint] for fingerprint in sorted(names, key=cost)}

    @cached_property
    def facts(self) -> dict[str, EncoderFacts]:
        """What encoders cost, as their records say; the speed is the longest measurement."""
        found: dict[str, EncoderFacts] = {}
        for record in self._records:
            fingerprint, new = fingerprint_of(record), record.encoder_facts
            if new and (fingerprint not in found or _measured(new) > _measured(found[fingerprint])):
                found[fingerprint] = new
        return found

    @property
    def _records(self) -> list[Record]:
        return [run.record for column in self.columns for run in column.runs]


def find_fields(inputs: ReportInputs, tasks: Sequence[str]) -> list[Field]:
    """One field per source and size that has runs with an encoder; the generated world comes last."""
    grouped: dict[tuple[str, str], dict[tuple[str, str], list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in inputs.published.runs:
        record = run.record
        if is_baseline(record) or not inputs.is_tuned(block_of(record)):
            grouped[record.source, record.size][record.task, record.corpus].append(run)
    fields = []
    for (source, size), by_corpus in grouped.items():
        wanted = [key for key in by_corpus if key[0] in tasks]
        wanted.sort(key=lambda key: (tasks.index(key[0]), key[1]))
        columns = [_column(*key, by_corpus[key]) for key in wanted]
        kept = tuple(column for column in columns if any(not is_baseline(run.record) for run in column.runs))
        if kept:
            fields.append(Field(source, size, kept))
    return sorted(fields, key=lambda field: (rank_source(field.source), field.size))


def _column(task: str, corpus: str, runs: Iterable[Run]) -> Column:
    """The runs of the newest version, then of most encoders, then of most runs."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        if is_whole(run.record):
            groups[setting_at_any_rate(run.record)].append(run)

    def rank(name: str) -> tuple[object, ...]:
        records = [run.record for run in groups[name]]
        version = (records[0].task_version, int(records[0].identity["numerics"]))
        return version, len({fingerprint_of(record) for record in records}), len(records), name

    best = max(groups, key=rank, default=None)
    return Column(task, corpus, tuple(groups[best]) if best is not None else ())


def reads_one_layer(record: Record) -> bool:
    """Whether a task is a probe, which by default reads one numbered layer."""
    return isinstance(record.config.get("task", {}).get("elmo", {}).get("layers"), int)


def describe_choice(chosen: Seeds, others: Iterable[Seeds]) -> str:
    """What sets the chosen condition apart from the others that dev chose from; empty without others."""
    rivals = [next(iter(seeds.values())).record for seeds in others]
    record = next(iter(chosen.values())).record
    said = []
    if len({rate_of(one) for one in rivals}) > 1:
        said.append(f"rate {rate_of(record):g}")
    if len({_is_normalised(one) for one in rivals}) > 1:
        said.append("layer norm" if _is_normalised(record) else "no layer norm")
    if len({one.identity["elmo"].get("layers") for one in rivals}) > 1:
        layers = record.identity["elmo"]["layers"]
        said.append("mix" if layers == "all" else f"layer {layers}")
    return ", ".join(said)


def _is_normalised(record: Record) -> bool:
    return bool(record.identity["elmo"].get("layer_norm"))


def _dev_score(seeds: Seeds) -> float:
    return mean(run.record.scores["dev"][run.record.metric] for run in seeds.values())


def _measured(facts: EncoderFacts) -> int:
    return facts.speed.tokens if facts.speed else -1
