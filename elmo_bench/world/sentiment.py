"""Sentiment: trees with a label from 0 to 4 at every node, composed by degree, negation and contrast."""

from __future__ import annotations

import random
from dataclasses import dataclass

from elmo_bench.world.lexicon import Scope
from elmo_bench.world.tables import (
    ASPECTS,
    DEGREES,
    DOUBLE_EDGED,
    FOR_COMFORT,
    FOR_STORIES,
    REACTIONS,
    WORTH,
)


@dataclass(frozen=True)
class Node:
    """A phrase and its sentiment from -2 to 2; a word has no parts."""

    worth: int
    parts: tuple[Node, ...] = ()
    word: str = ""

    def __str__(self) -> str:
        inside = self.word if self.word else " ".join(str(part) for part in self.parts)
        return f"({self.worth + 2} {inside})"

    @property
    def words(self) -> tuple[str, ...]:
        """The words below the node, from left to right."""
        return (self.word,) if self.word else tuple(word for part in self.parts for word in part.words)


def write_review(scope: Scope, randomness: random.Random, *, reaction: bool = False) -> Node:
    """One sentence of opinion; in plain text it may end with people's reaction."""
    edge = randomness.choice((FOR_STORIES, FOR_COMFORT))
    clause = _clause(edge, scope, randomness)
    draw = randomness.random()
    if draw < 0.35:
        clause = _contrast(clause, _clause(edge, scope, randomness), randomness)
    elif draw < 0.5:
        clause = join(clause, join(_leaf("and"), _clause(edge, scope, randomness)))
    if reaction and clause.worth:
        said = _phrase(scope.choose(randomness, REACTIONS[clause.worth]), clause.worth)
        clause = join(clause, join(_leaf("and"), said))
    return _capitalised(join(clause, _leaf(".")))


def join(left: Node, right: Node) -> Node:
    """Two adjacent phrases: the stronger opinion wins, opposite opinions cancel."""
    worths = (left.worth, right.worth)
    total = sum(worths) if min(worths) < 0 < max(worths) else max(worths, key=abs)
    return Node(total, (left, right))


def negate(phrase: Node, word: str) -> Node:
    """Negation: "not good" is bad, but "not awful" is not good."""
    worth = {2: -1, 1: -1, 0: 0, -1: 1, -2: 0}[phrase.worth]
    return Node(worth, (_leaf(word), phrase))


def _contrast(first: Node, second: Node, randomness: random.Random) -> Node:
    """After `but` the second clause decides; after an `although` clause the main clause decides."""
    opposed = first.worth * second.worth < 0
    worth = (second.worth // abs(second.worth)) if opposed else join(first, second).worth
    if randomness.random() < 0.5:
        return Node(worth, (first, Node(second.worth, (_leaf("but"), second))))
    aside = Node(first.worth, (Node(first.worth, (_leaf("although"), first)), _leaf(",")))
    return Node(worth, (aside, second))


def _clause(edge: int, scope: Scope, randomness: random.Random) -> Node:
    subject = join(_leaf("the"), _leaf(scope.choose(randomness, ASPECTS[edge])))
    judgement = _judgement(edge, scope, randomness)
    draw = randomness.random()
    if draw < 0.25:
        copula, verb = negate(judgement, "not"), "is"
        return join(subject, Node(copula.worth, (_leaf(verb), copula)))
    if draw < 0.35:
        found = Node(judgement.worth, (Node(0, (_leaf("found"), subject)), judgement))
        return negate(found, "nobody")
    if draw < 0.5:
        found = Node(judgement.worth, (Node(0, (_leaf("found"), subject)), judgement))
        return Node(found.worth, (_leaf("we"), found))
    verb = randomness.choice(("is", "was", "seemed", "remains"))
    return join(subject, join(_leaf(verb), judgement))


def _judgement(edge: int, scope: Scope, randomness: random.Random) -> Node:
    if randomness.random() < scope.double_edged_rate:
        sign = randomness.choice((FOR_STORIES, FOR_COMFORT))
        adjective = _leaf(scope.choose(randomness, DOUBLE_EDGED[sign]), edge * sign)
    else:
        worth = randomness.choice((2, 2, 1, 1, 0, -1, -1, -2, -2))
        adjective = _leaf(scope.choose(randomness, WORTH[worth]), worth)
    if randomness.random() < 0.35 and adjective.worth:
        degree = randomness.choice(sorted(DEGREES))
        sign = 1 if adjective.worth > 0 else -1
        return Node(sign * DEGREES[degree], (_leaf(degree), adjective))
    return adjective


def _leaf(word: str, worth: int = 0) -> Node:
    return Node(worth, word=word)


def _phrase(text: str, worth: int) -> Node:
    """A fixed phrase; its last word has the sentiment."""
    *before, last = text.split()
    node = _leaf(last, worth)
    for word in reversed(before):
        node = Node(worth, (_leaf(word), node))
    return node


def _capitalised(node: Node) -> Node:
    if node.word:
        return Node(node.worth, word=node.word[0].upper() + node.word[1:])
    return Node(node.worth, (_capitalised(node.parts[0]), *node.parts[1:]))
