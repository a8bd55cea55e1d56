"""Word senses: ambiguous words in contexts that decide the sense, in the unified framework's XML."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from xml.sax.saxutils import escape

from elmo_bench.world.lexicon import Scope, seeded, senses, verb
from elmo_bench.world.sentences import Sentence, Token
from elmo_bench.world.story import CAST_KINDS, Entity, Event, new_entity, new_event
from elmo_bench.world.surface import tell
from elmo_bench.world.tables import NOUNS, RELATIONS
from elmo_bench.world.tagging import universal_tag

_NOUN_FILES: dict[str, int] = {
    "person": 18, "place": 15, "organisation": 14, "work": 10, "food": 13, "clothing": 6, "vehicle": 6,
    "animal": 5, "machine": 6, "substance": 27, "fragile": 6, "gift": 6, "organism": 20, "body": 8,
    "calamity": 11, "weapon": 6,
}  # fmt: skip


def sense_key(word: str, pos: str, sense: str) -> str:
    """A sense key in WordNet's format for one sense of a word."""
    number = senses()[word, pos].index(sense)
    if pos == "n":
        return f"{word}%1:{_NOUN_FILES[sense]:02d}:0{number}::"
    return f"{word}%2:{30 + _relation_index(sense) % 14}:0{number}::"


def inventory() -> str:
    """Every sense of every ambiguous word; the first listed is the most frequent."""
    rows = ["lemma\tpos\tsense_number\tsense_key\tsynset_offset\ttag_count"]
    for word, pos in sorted(senses()):
        for number, sense in enumerate(senses()[word, pos]):
            index = _relation_index(sense) if pos == "v" else 100 + list(NOUNS).index(sense)
            offset = 1000 * (1 + index) + number
            count = 6 - 2 * number
            rows.append(f"{word}\t{pos}\t{number + 1}\t{sense_key(word, pos, sense)}\t{offset:08d}\t{count}")
    return "\n".join(rows) + "\n"


def sense_sentences(split: str, repeats: int) -> list[Sentence]:
    """Sentences for every sense of every ambiguous word; the first sense occurs 1.5 times as often."""
    scope = Scope(split)
    sentences = []
    for word, pos in sorted(senses()):
        for number, sense in enumerate(senses()[word, pos]):
            for turn in range(repeats * 3 if number == 0 else repeats * 2):
                randomness = seeded("senses", split, word, pos, sense, turn)
                sentences.append(_sentence_with(word, pos, sense, scope, randomness))
    seeded("senses", split).shuffle(sentences)
    return sentences


def _sentence_with(word: str, pos: str, sense: str, scope: Scope, randomness: random.Random) -> Sentence:
    cast = tuple(
        new_entity(index, kind, scope, randomness, named=randomness.random() < 0.4)
        for index, kind in enumerate(CAST_KINDS)
    )
    while True:
        event = _event_with(word, pos, sense, cast, scope, randomness)
        sentence = tell(event, scope, randomness)
        if any(_is_instance(token) and token.lemma == word for token in sentence.tokens):
            return sentence


def _event_with(
    word: str, pos: str, sense: str, cast: tuple[Entity, ...], scope: Scope, randomness: random.Random
) -> Event:
    if pos == "v":
        relation = RELATIONS[_relation_index(sense)]
        event = new_event(cast, 20, scope, randomness, relation)
        return replace(event, verb=next(entry for entry in relation.verbs if verb(entry).base == word))
    relation = randomness.choice([one for one in RELATIONS if sense in (one.subject, one.object)])
    event = new_event(cast, 20, scope, randomness, relation)
    thing = Entity(
        30, sense, word, gender="f" if sense == "person" else "n", plural=randomness.random() < 0.2
    )
    if relation.object == sense:
        return replace(event, object=thing)
    return replace(event, subject=thing)


def unified_xml(sentences: Sequence[Sentence], source: str) -> tuple[str, str]:
    """The data file and the key file of the unified framework (Raganato et al. 2017)."""
    rows = ['<?xml version="1.0" encoding="UTF-8" ?>', f'<corpus lang="en" source="{source}">']
    rows.append(f'<text id="d000" source="{source}">')
    keys = []
    for number, sentence in enumerate(sentences):
        identifier = f"d000.s{number:03d}"
        rows.append(f'<sentence id="{identifier}">')
        instances = 0
        for token in sentence.tokens:
            attributes = f'lemma="{escape(token.lemma.lower())}" pos="{_framework_tag(token)}"'
            if _is_instance(token):
                name = f"{identifier}.t{instances:03d}"
                rows.append(f'<instance id="{name}" {attributes}>{escape(token.word)}</instance>')
                keys.append(f"{name} {sense_key(token.lemma, token.tag[0].lower(), token.sense)}")
                instances += 1
            else:
                rows.append(f"<wf {attributes}>{escape(token.word)}</wf>")
        rows.append("</sentence>")
    return "\n".join([*rows, "</text>", "</corpus>"]) + "\n", "\n".join(keys) + "\n"


def _is_instance(token: Token) -> bool:
    pos = token.tag[0].lower()
    return bool(token.sense) and token.sense in senses().get((token.lemma, pos), ())


def _framework_tag(token: Token) -> str:
    tag = universal_tag(token)
    return {"PROPN": "NOUN", "AUX": "VERB", "PUNCT": ".", "PART": "PRT", "CCONJ": "CONJ"}.get(tag, tag)


def _relation_index(name: str) -> int:
    return next(index for index, relation in enumerate(RELATIONS) if relation.name == name)
