"""Word sense disambiguation (paper 5.3): the sense of a word is the nearest sense of the training set.

Two heads, by what a sense is: the mean of its training vectors, or all of them. Neither has gradients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import ClassVar, Literal

import torch
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass
from torch import Tensor, nn

from elmo_bench.data.excerpts import locate
from elmo_bench.data.tokens import name_span, undo_escapes
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary
from elmo_bench.data.wsd import (
    PARTS_OF_SPEECH,
    SenseInstance,
    SenseInventory,
    read_inventory,
    read_sense_sentences,
)
from elmo_bench.metrics.senses import score_senses
from elmo_bench.task import Task
from elmo_bench.tensors import Batch, HeadOutput, Injected, Widths
from elmo_bench.types import Counts, Excerpt, Prediction, Scores, SplitFiles, UsageError, Words

Candidates = Literal["lemma_pos", "lemma"]
SET = ":"  # scores of one test set are named `f1:senseval2`


@dataclass(frozen=True)
class Target:
    """A word to disambiguate, its correct senses, and all senses of its lemma, the most frequent first."""

    start: int
    end: int
    keys: tuple[str, ...]
    candidates: tuple[str, ...]


@dataclass(frozen=True)
class WsdExample:
    """One sentence with at least one target."""

    id: str
    collection: str  # the test set, if there are several
    corpus_id: str  # what the file calls the sentence, such as d004.s017
    words: Words
    targets: tuple[Target, ...]
    excerpt: Excerpt | None = field(default=None, compare=False, repr=False)  # where it stands


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class WsdHeadSettings:
    """The distance between vectors; not stated in the paper."""

    distance: Literal["cosine", "euclidean"]
    nearest: Literal["mean", "token"]  # what a target is near to


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class WsdTask(Task[WsdExample]):
    """Every target gets an answer, so precision, recall and F1 are equal."""

    head: WsdHeadSettings
    candidates: Candidates

    version: ClassVar[int] = 1
    metric: ClassVar[str] = "f1"
    higher_is_better: ClassVar[bool] = True
    answers_are_labels: ClassVar[bool] = False

    def read(self, files: SplitFiles) -> Iterator[WsdExample]:
        """Sentences with targets: the first file is the inventory, then come pairs of text and keys."""
        if files.format != "unified":
            raise UsageError(f"format={files.format}: task wsd reads unified")
        inventory, *pairs = files.paths
        if not pairs or len(pairs) % 2:
            wanted = "the inventory of senses, then pairs of .data.xml and .gold.key.txt"
            raise UsageError(f"data.{files.split}: expected {wanted}, got {len(files.paths)} files")
        senses = read_inventory(inventory)
        for text, keys in zip(pairs[::2], pairs[1::2], strict=True):
            yield from _read_collection(text, keys, senses, self.candidates)

    def sentences(self, example: WsdExample) -> Mapping[str, tuple[Words, ...]]:
        return {"text": (example.words,)}

    def excerpts(self, example: WsdExample) -> Mapping[str, tuple[Excerpt, ...]] | None:
        return {"text": (example.excerpt,)} if example.excerpt else None

    def vocabularies(self, examples: Sequence[WsdExample]) -> Mapping[str, Vocabulary]:
        keys = (key for example in examples for target in example.targets for key in target.keys)
        return {"senses": Vocabulary.closed(keys)}

    def index(self, example: WsdExample, vocabularies: Vocabularies) -> Mapping[str, Tensor]:
        senses = vocabularies["senses"]

        def numbers(lists: Sequence[Sequence[str]]) -> Tensor:
            known = [[senses.id_of(key) + 1 if key in senses else 0 for key in keys] for keys in lists]
            width = max(map(len, known))
            return torch.tensor([row + [0] * (width - len(row)) for row in known], dtype=torch.long)

        return {
            "spans": torch.tensor([[target.start, target.end] for target in example.targets]),  # (targets, 2)
            "gold": numbers([target.keys for target in example.targets]),  # (targets, senses)
            "candidates": numbers([target.candidates for target in example.targets]),  # (targets, senses)
        }

    def build_head(self, vocabularies: Vocabularies, widths: Widths) -> WsdHead:
        return HEADS[self.head.nearest](self.head, len(vocabularies["senses"]), widths)

    def gold(self, example: WsdExample) -> Prediction:
        """Indices of the correct senses among the candidates, from 1; 0 if the inventory has none."""
        return [
            next((number for number, key in enumerate(target.candidates, 1) if key in target.keys), 0)
            for target in example.targets
        ]

    def answers(self, example: WsdExample, prediction: Prediction) -> Mapping[str, str]:
        """The sense of every target; any correct one is written as the first of them."""
        found = {}
        for target, number in zip(example.targets, prediction, strict=False):
            sense = next(iter(target.candidates[number - 1 : number]), "none")
            name = name_span(example.words, target.start, target.end)
            found[name] = target.keys[0] if sense in target.keys else sense
        return found

    def count(self, example: WsdExample, prediction: Prediction) -> Counts:
        numbers = [*prediction, *[0] * len(example.targets)]  # a target without an answer is a wrong one
        chosen = [target.candidates[n - 1 : n] for target, n in zip(example.targets, numbers, strict=False)]
        pairs = zip(example.targets, chosen, strict=True)
        right = sum(bool(set(target.keys).intersection(answer)) for target, answer in pairs)
        counts: Counts = {"correct": right, "targets": len(example.targets)}
        return counts | {f"{name}{SET}{example.collection}": value for name, value in counts.items()}

    def score(self, counts: Sequence[Counts]) -> Scores:
        return score_senses(counts)


def _read_collection(
    text: Path, keys: Path, senses: SenseInventory, candidates: Candidates
) -> Iterator[WsdExample]:
    collection = text.name.split(".")[0]
    for number, (sentence, excerpt) in enumerate(locate(read_sense_sentences(text, keys)), start=1):
        targets = tuple(_target(instance, senses, candidates) for instance in sentence.instances)
        if targets:
            words = undo_escapes(sentence.words)
            yield WsdExample(f"{collection}-{number}", collection, sentence.id, words, targets, excerpt)


def _target(instance: SenseInstance, senses: SenseInventory, candidates: Candidates) -> Target:
    """A target; candidates of its own part of speech stand first, so an unseen lemma has its first sense."""
    parts = [instance.part_of_speech]
    if candidates == "lemma":
        parts += [part for part in PARTS_OF_SPEECH.values() if part != instance.part_of_speech]
    listed = (sense.key for part in parts for sense in senses.senses(instance.lemma, part))
    return Target(instance.start, instance.end, instance.keys, tuple(listed))


class WsdHead(nn.Module, ABC):
    """Nearest neighbour among a target's candidate senses; the first one if none has a vector.

    Fields: `spans` (targets, 2) with end 0 at padding; `gold` and `candidates` (targets, n), indices of
    senses from 1, with 0 for padding and for senses that the training set lacks. Candidates are in the
    inventory's order, so without ELMo, when no sense has a vector, this is the first-sense baseline.
    """

    fitting: ClassVar[Literal["one_pass"]] = "one_pass"

    def __init__(self, settings: WsdHeadSettings, widths: Widths) -> None:
        super().__init__()
        if widths.at_output:
            raise UsageError("elmo.where: nearest neighbours have no recurrent layer; use input or none")
        self.settings = settings

    def observe(self, injected: Mapping[str, Injected], batch: Batch) -> None:
        """Take in every target's vector for each of its gold senses."""
        targets, vectors = target_vectors(injected["text"], batch.fields["spans"])
        gold = batch.fields["gold"][targets]  # (targets, n)
        target, place = gold.nonzero(as_tuple=True)
        self.take_in(gold[target, place], vectors[target])

    @abstractmethod
    def take_in(self, senses: Tensor, vectors: Tensor) -> None:
        """Training vectors (pairs, dim) and the sense of each, (pairs,)."""

    @abstractmethod
    def finish(self) -> None:
        """Make what was taken in ready to be searched."""

    def forward(self, injected: Mapping[str, Injected], batch: Batch) -> HeadOutput:
        """The similarity of each candidate, minus infinity if it has no vector; there is no loss."""
        targets, vectors = target_vectors(injected["text"], batch.fields["spans"])
        candidates = batch.fields["candidates"][targets]  # (targets, n)
        target, place = candidates.nonzero(as_tuple=True)
        near = torch.full(candidates.shape, -torch.inf, device=vectors.device)
        near[target, place] = self.nearness_to_senses(vectors[target], candidates[target, place])
        return HeadOutput(torch.zeros((), device=vectors.device), {"nearness": near})

    @abstractmethod
    def nearness_to_senses(self, vectors: Tensor, senses: Tensor) -> Tensor:
        """How near each vector (pairs, dim) is to the sense beside it, (pairs,)."""

    def nearness(self, left: Tensor, right: Tensor) -> Tensor:
        """Similarities, larger is nearer, (pairs,)."""
        if self.settings.distance == "cosine":
            return torch.cosine_similarity(left, right, dim=1)
        distance: Tensor = torch.linalg.vector_norm(left - right, dim=1)
        return -distance

    def decode(self, output: HeadOutput, batch: Batch) -> list[list[int]]:
        """The index of each target's sense in its list of candidates, from 1 as in WordNet."""
        chosen = iter((output.scores["nearness"].argmax(dim=1) + 1).tolist())  # of equal scores the first
        counts = (batch.fields["spans"][:, :, 1] > 0).sum(1).tolist()
        return [[next(chosen) for _ in range(count)] for count in counts]


class MeanHead(WsdHead):
    """A sense is the mean of its training vectors (paper, section 5.3)."""

    means: Tensor
    occurrences: Tensor

    def __init__(self, settings: WsdHeadSettings, senses: int, widths: Widths) -> None:
        super().__init__(settings, widths)
        # row 0 is for padding and for senses that training lacks; it never has a vector
        self.register_buffer("means", torch.zeros(senses + 1, widths.at_input))  # sums until finish
        self.register_buffer("occurrences", torch.zeros(senses + 1))

    def take_in(self, senses: Tensor, vectors: Tensor) -> None:
        self.means.index_add_(0, senses, vectors.to(self.means.dtype))  # sums are float32 under autocast, too
        self.occurrences.index_add_(0, senses, torch.ones_like(senses, dtype=self.occurrences.dtype))

    def finish(self) -> None:
        """Turn sums into means."""
        self.means.div_(self.occurrences.clamp(min=1).unsqueeze(1))

    def nearness_to_senses(self, vectors: Tensor, senses: Tensor) -> Tensor:
        means = self.means[senses]  # (pairs, dim)
        return torch.where(means.any(dim=1), self.nearness(vectors, means), -torch.inf)


class TokenHead(WsdHead):
    """A sense is as near as the nearest of its training vectors, so a frequent sense has more chances.

    The vectors are kept in float16, as the store has them: those of SemCor's 226,000 targets take 116 MB
    for a biLM of 256 dimensions. Each candidate is searched apart, with the vectors of one sense at a time.
    """

    tokens: Tensor
    ends: Tensor

    def __init__(self, settings: WsdHeadSettings, senses: int, widths: Widths) -> None:
        super().__init__(settings, widths)
        self.senses = senses
        self.taken_in: list[tuple[Tensor, Tensor]] = []  # until finish
        self.register_buffer("tokens", torch.zeros(0, widths.at_input, dtype=torch.float16))  # sense by sense
        self.register_buffer("ends", torch.zeros(senses + 1, dtype=torch.long))  # of every sense's tokens
        self.register_load_state_dict_pre_hook(_make_room)  # type: ignore[no-untyped-call]

    def take_in(self, senses: Tensor, vectors: Tensor) -> None:
        self.taken_in.append((senses, vectors.to(self.tokens.dtype)))

    def finish(self) -> None:
        """Sort by sense."""
        senses = torch.cat([senses for senses, _ in self.taken_in])
        tokens = torch.cat([vectors for _, vectors in self.taken_in])
        self.taken_in.clear()
        self.tokens = tokens[senses.argsort(stable=True)]
        self.ends = torch.bincount(senses, minlength=self.senses + 1).cumsum(0)

    def nearness_to_senses(self, vectors: Tensor, senses: Tensor) -> Tensor:
        near = vectors.new_full(senses.shape, -torch.inf)
        for pair, sense in enumerate(senses.tolist()):
            own = self.tokens[self.ends[sense - 1] : self.ends[sense]]  # (tokens, dim)
            if own.numel():
                near[pair] = self.nearness(vectors[pair : pair + 1], own.to(vectors.dtype)).amax()
        return near


def _make_room(head: nn.Module, state: Mapping[str, Tensor], prefix: str, *_: object) -> None:
    """Weights from a file: only they tell how many tokens the training set has."""
    head.tokens = state[f"{prefix}tokens"].new_zeros(state[f"{prefix}tokens"].shape)


HEADS = {"mean": MeanHead, "token": TokenHead}


def target_vectors(text: Injected, spans: Tensor) -> tuple[Tensor, Tensor]:
    """A mask of the real spans (rows, targets, 2), and the mean word vector of each, (targets, dim)."""
    targets = spans[:, :, 1] > 0  # (rows, targets)
    rows = targets.nonzero()[:, 0]  # (targets,)
    start, end = spans[targets].unbind(1)
    positions = torch.arange(text.mask.shape[1], device=spans.device)
    inside = (positions >= start.unsqueeze(1)) & (positions < end.unsqueeze(1))  # (targets, time)
    target, position = inside.nonzero(as_tuple=True)
    sums = text.at_input.new_zeros(len(rows), text.at_input.shape[2])
    sums.index_add_(0, target, text.at_input[rows[target], position])
    return targets, sums / (end - start).unsqueeze(1)
