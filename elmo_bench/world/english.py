"""English inflection and lemmas, as far as the words of the world need them."""

from __future__ import annotations

from dataclasses import dataclass

from elmo_bench.world.tables import IRREGULAR_PLURALS, LEMMAS

_VOWELS = "aeiou"


@dataclass(frozen=True)
class Verb:
    """A verb and its forms by Penn tag."""

    base: str
    past: str
    participle: str
    gerund: str
    present: str

    def form(self, tag: str) -> str:
        """The form for a Penn tag."""
        forms = {"VB": self.base, "VBP": self.base, "VBD": self.past, "VBN": self.participle}
        return {**forms, "VBG": self.gerund, "VBZ": self.present}[tag]


def conjugate(spelling: str) -> Verb:
    """A verb from its entry: `hire`, `hug+` (doubles its consonant) or `eat/ate/eaten`."""
    base, *principal = spelling.rstrip("+").split("/")
    stem = base + base[-1] if spelling.endswith("+") or base in _DOUBLING else base
    past = principal[0] if principal else _add_ed(stem)
    participle = principal[1] if principal else past
    present = base[:-1] + "ies" if _ends_in_consonant_y(base) else _add_s(base)
    return Verb(base, past, participle, _add_ing(stem), present)


_DOUBLING = frozenset(["run", "hit", "set", "swim", "sit", "split", "spin", "outbid", "upset", "stop"])


def pluralise(noun: str) -> str:
    """The plural of a noun of the world."""
    if noun in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[noun]
    return noun[:-1] + "ies" if _ends_in_consonant_y(noun) else _add_s(noun)


def lemma(word: str, tag: str) -> str:
    """The lemma of a fixed word."""
    if tag == "NNP":
        return word
    if tag == "NNS" and word not in LEMMAS:
        return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")
    return LEMMAS.get(word, word.lower())


def article(word: str) -> str:
    """The indefinite article before a word."""
    if word.startswith("heir"):
        return "an"
    return "an" if word[0].lower() in _VOWELS and not word.startswith(("uni", "eu", "us", "one")) else "a"


def _ends_in_consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in _VOWELS


def _add_s(word: str) -> str:
    return word + "es" if word.endswith(("s", "x", "sh", "ch", "z")) else word + "s"


def _add_ed(stem: str) -> str:
    if stem.endswith("e"):
        return stem + "d"
    return stem[:-1] + "ied" if _ends_in_consonant_y(stem) else stem + "ed"


def _add_ing(stem: str) -> str:
    if stem.endswith("ie"):
        return stem[:-2] + "ying"
    if stem.endswith("e") and not stem.endswith(("ee", "oe")):
        return stem[:-1] + "ing"
    return stem + "ing"
