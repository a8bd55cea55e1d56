"""Proper names: one pool for people, places, organisations and works, so that no spelling tells the class."""

from __future__ import annotations

from elmo_bench.world.listing import listed
from elmo_bench.world.seeds import seeded

_FIRST_HALVES = listed(
    "Har Wel Lin Bar Ald Cal Den Ed Far Gra Hol Ken Lang Mar Nor Old Pem Rad Sel Thor Wex Yar Bran Crom Dun "
    "Elm Fen Glen Hart Ives Kirk Lan Mel Nash Oak Pres Quin Rams Stan Tre"
)
_LAST_HALVES = listed("ton ford ley son man more wick den well by ham croft ridge wood field stone")
_WORD_NAMES = listed(
    "Rose Hope Grace May Reading Bath Fox Cross Ward Chase Page Hill Brooks Rivers Paris Florence "
    "Jordan Lincoln Austin Chelsea Madison Sydney Victoria Savannah Houston Carolina Phoenix Hudson"
)


def _shuffled_names() -> tuple[str, ...]:
    built = [first + last for first in _FIRST_HALVES for last in _LAST_HALVES]
    randomness = seeded("names")
    chosen = randomness.sample(built, 212) + list(_WORD_NAMES)
    randomness.shuffle(chosen)
    return tuple(chosen)


NAMES: tuple[str, ...] = _shuffled_names()
