"""Question answering on paragraphs (SQuAD v1.1; paper A.4): the answer is a span of the paragraph."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, ClassVar

import torch
from pydantic import ConfigDict, Field, PositiveInt
from pydantic.dataclasses import dataclass
from torch import Tensor

from elmo_bench.data.squad import Answer, SquadQuestion, read_squad
from elmo_bench.data.tokens import Token, find_tokens, tokenise
from elmo_bench.data.vocabulary import Vocabularies, Vocabulary, spell
from elmo_bench.metrics.answers import count_answer, score_answers
from elmo_bench.task import Task
from elmo_bench.tensors import Widths
from elmo_bench.types import Counts, Prediction, Scores, SplitFiles, UsageError, Words

from .head import SquadHead, SquadHeadSettings

FROM_TRAIN = "dev_from_train"  # the option of a corpus without a test set of its own
WIDENED = "answers that begin or end inside a token; read as the whole tokens"


class Paragraph:
    """A text with its tokens, shared by the questions on it; its numbers are made once for all of them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: tuple[Token, ...] = find_tokens(text)
        self.words: Words = tuple(token.text for token in self.tokens)
        self._made: tuple[Vocabularies, int, dict[str, Tensor]] | None = None

    def fields(self, vocabularies: Vocabularies, word_length: int) -> dict[str, Tensor]:
        """What all questions on this paragraph have in common."""
        if self._made is None or self._made[0] is not vocabularies or self._made[1] != word_length:
            fields = {
                **number_words("context", self.words, vocabularies, word_length),
                "offsets": torch.tensor([token[1:] for token in self.tokens]),  # (time, 2)
                "context_text": torch.tensor(list(map(ord, self.text)), dtype=torch.int32),  # (characters,)
            }
            self._made = vocabularies, word_length, fields
        return self._made[2]

    def span(self, answer: Answer) -> tuple[int, int]:
        """First and last of the tokens that an answer covers or begins or ends in."""
        end = answer.start + len(answer.text)
        covered = [
            place for place, token in enumerate(self.tokens) if token.start < end and token.end > answer.start
        ]
        return covered[0], covered[-1]

    def cut(self, first: int, last: int) -> str:
        """The original text from one token to another."""
        return self.text[self.tokens[first].start : self.tokens[last].end]


@dataclass(frozen=True, config=ConfigDict(arbitrary_types_allowed=True))
class SquadExample:
    """One question with its paragraph; `first` and `last` are the tokens of the answer to learn."""

    id: str
    paragraph: Paragraph
    question: Words
    answers: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SquadTask(Task[SquadExample]):
    """SQuAD's task; predictions are texts cut from the paragraph."""

    head: SquadHeadSettings
    word_length: PositiveInt  # characters that the character CNN sees of a word
    character_minimum: PositiveInt  # rarer characters are unknown
    dev_share: Annotated[float, Field(gt=0, lt=1)]  # of the training articles, where dev is made of them

    version: ClassVar[int] = 1
    metric: ClassVar[str] = "f1"
    higher_is_better: ClassVar[bool] = True
    answers_are_labels: ClassVar[bool] = False

    def read(self, files: SplitFiles) -> Iterator[SquadExample]:
        """The questions of the files; an answer that cuts through tokens is counted and widened to them."""
        if files.format != "squad":
            raise UsageError(f"format={files.format}: task squad reads squad")
        questions = (question for path in files.paths for question in read_squad(path))
        wanted = (question for question in questions if self.belongs(question.article, files))
        for context, asked in groupby(wanted, key=lambda question: question.context):
            paragraph = Paragraph(context)
            for question in asked:
                example = example_of(question, paragraph)
                files.leave_out(WIDENED, int(not is_aligned(example)))
                yield example

    def belongs(self, article: str, files: SplitFiles) -> bool:
        """Whether an article is of this split: test is the official dev set, dev whole articles of train."""
        if files.split == "test" or not read_option(files.options):
            return True
        place = int.from_bytes(hashlib.sha256(article.encode()).digest()[:8]) / 2**64  # in [0, 1)
        return (place < self.dev_share) == (files.split == "dev")

    def sentences(self, example: SquadExample) -> Mapping[str, tuple[Words, ...]]:
        """The paragraph is one sequence, as in the authors' document-qa."""
        return {"context": (example.paragraph.words,), "question": (example.question,)}

    def vocabularies(self, examples: Sequence[SquadExample]) -> Mapping[str, Vocabulary]:
        """The characters of every question and of every paragraph once."""
        paragraphs = dict.fromkeys(example.paragraph for example in examples)
        texts = [paragraph.words for paragraph in paragraphs] + [example.question for example in examples]
        characters = (character for words in texts for word in words for character in word)
        return {"characters": Vocabulary.open(characters, self.character_minimum)}

    def index(self, example: SquadExample, vocabularies: Vocabularies) -> Mapping[str, Tensor]:
        return {
            **example.paragraph.fields(vocabularies, self.word_length),
            **number_words("question", example.question, vocabularies, self.word_length),
            "span": torch.tensor([example.first, example.last]),  # (2,)
        }

    def build_head(self, vocabularies: Vocabularies, widths: Widths) -> SquadHead:
        return SquadHead(self.head, vocabularies, widths)

    def gold(self, example: SquadExample) -> Prediction:
        return example.answers[0]

    def answers(self, example: SquadExample, prediction: Prediction) -> Mapping[str, str]:
        """The text; one that matches any gold answer exactly is written as the first of them."""
        matches = prediction and count_answer(example.answers, prediction)["exact_match"]
        return {"answer": example.answers[0] if matches else str(prediction)}

    def count(self, example: SquadExample, prediction: Prediction) -> Counts:
        return count_answer(example.answers, prediction)

    def score(self, counts: Sequence[Counts]) -> Scores:
        return score_answers(counts)

    def render(self, examples: Sequence[SquadExample], predictions: Sequence[Prediction]) -> str:
        """One object from ids to answers, as the official script reads it."""
        answers = {row.id: answer for row, answer in zip(examples, predictions, strict=True)}
        return json.dumps(answers, ensure_ascii=False) + "\n"


def example_of(question: SquadQuestion, paragraph: Paragraph) -> SquadExample:
    """A question with the first of its answers that is made of whole tokens, else the first widened so."""
    spans = [(answer, paragraph.span(answer)) for answer in question.answers]
    whole = (span for answer, span in spans if paragraph.cut(*span) == answer.text.strip())
    first, last = next(whole, spans[0][1])
    texts = tuple(answer.text for answer in question.answers)
    return SquadExample(question.id, paragraph, tokenise(question.question), texts, first, last)


def is_aligned(example: SquadExample) -> bool:
    """Whether some right answer consists of whole tokens of its paragraph."""
    return example.paragraph.cut(example.first, example.last) in map(str.strip, example.answers)


def number_words(name: str, words: Words, vocabularies: Vocabularies, word_length: int) -> dict[str, Tensor]:
    """Word and character ids of one text, under the names its stream's fields have."""
    spelt = spell([word[:word_length] for word in words], vocabularies["characters"])
    return {
        f"{name}_words": vocabularies.words.ids(words),  # (time,)
        f"{name}_characters": spelt.to(torch.int32),  # (time, characters)
    }


def read_option(options: Mapping[str, Any]) -> bool:
    """Whether a corpus makes its dev set of training articles."""
    for key in options:
        if key != FROM_TRAIN:
            raise UsageError(f"options.{key}: task squad knows {FROM_TRAIN} only")
    chosen = options.get(FROM_TRAIN, False)
    if not isinstance(chosen, bool):  # the text "no" would count as true
        raise UsageError(f"options.{FROM_TRAIN}={chosen}: expected true or false")
    return chosen
