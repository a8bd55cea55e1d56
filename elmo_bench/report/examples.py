"""Where one run is right and another is wrong, and which answers are taken for which: from answers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

NOTHING = "–"  # no answer, where another run or the gold standard has one
LABELS = 12  # of a confusion; further ones are shown together
OTHERS = "others"


@dataclass(frozen=True)
class Answered:
    """One example: its text, the gold answers and those of a run, by what is asked in it."""

    id: str
    text: tuple[str, ...]
    gold: Mapping[str, str]
    answers: Mapping[str, str]


@dataclass(frozen=True)
class Difference:
    """What two runs answer to one question of an example."""

    asked: str
    gold: str  # what the right run answers, too
    wrong: str


@dataclass(frozen=True)
class Answers:
    """A run's answers to the examples of a split."""

    examples: tuple[Answered, ...]
    are_labels: bool  # of a closed set; else they are words of the text


@dataclass(frozen=True)
class Case:
    """An example in which one run is right where the other is wrong."""

    id: str
    text: tuple[str, ...]
    differences: tuple[Difference, ...]


def find_cases(right: Sequence[Answered], wrong: Sequence[Answered]) -> list[Case]:
    """The examples in which the first run is right and the second wrong, in the order of the file."""
    cases = []
    for one, other in zip(right, wrong, strict=True):
        asked = dict.fromkeys([*one.gold, *one.answers, *other.answers])
        differences = tuple(
            Difference(key, one.gold.get(key, NOTHING), other.answers.get(key, NOTHING))
            for key in asked
            if one.answers.get(key) == one.gold.get(key) != other.answers.get(key)
        )
        if differences:
            cases.append(Case(one.id, one.text, differences))
    return cases


@dataclass(frozen=True)
class Confusion:
    """How often each gold label was answered by each label."""

    labels: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]  # by gold label; the columns are answers


def count_confusion(answered: Iterable[Answered]) -> Confusion:
    """The most frequent labels and how they are taken for each other."""
    pairs: Counter[tuple[str, str]] = Counter()
    for one in answered:
        for asked in dict.fromkeys([*one.gold, *one.answers]):
            pairs[one.gold.get(asked, NOTHING), one.answers.get(asked, NOTHING)] += 1
    frequent = Counter[str]()
    for (gold, answer), count in pairs.items():
        frequent[gold] += count
        frequent[answer] += count
    shown = [label for label, _ in sorted(frequent.items(), key=lambda item: (-item[1], item[0]))][:LABELS]
    labels = (*shown, OTHERS) if len(frequent) > len(shown) else tuple(shown)
    table = Counter[tuple[str, str]]()
    for (gold, answer), count in pairs.items():
        table[gold if gold in shown else OTHERS, answer if answer in shown else OTHERS] += count
    return Confusion(labels, tuple(tuple(table[gold, answer] for answer in labels) for gold in labels))
