"""Penn tags of the fixed words in the world's phrases; a word that is not listed is a singular noun."""

from __future__ import annotations

from functools import cache

from elmo_bench.world.listing import listed

_WORDS_BY_TAG: dict[str, str] = {
    "IN": "across after against along as at before behind below beside between beyond by down during "
    "for from in "
    "into near of off on out over round that through under until up with within without although "
    "because than",
    "DT": "a all an any some the every both no this",
    "JJ": "clear difficult equal full good great heavy hostile large last local long loud low mixed new "
    "old open "
    "public rich own sad same small thatched thick third late tired little empty ready free poor few certain",
    "NNS": "arms cliffs cuts damages days debts dunes funds headlines hills languages mountains numbers "
    "partners "
    "people pieces prices reviews sales stairs stars supplies talks tears terms volumes weeks years",
    "VBN": "been borrowed discussed known mentioned",
    "CD": "million ten three two four five six seven",
    "TO": "to",
    "RB": "again ago much not often once overnight well there never very quite here seldom hardly too",
    "NNP": "Friday June May Monday",
    "RBR": "more",
    "VBD": "became began had knew made refused turned was went said were did felt rained lost fell "
    "ended grew earned "
    "filed employed spoke held",
    "VBZ": "is has does",
    "VBP": "believe are have do",
    "PRP": "it they he she him them",
    "PRP$": "its their his",
    ".": ". ? !",
    "MD": "may will",
    ",": ",",
    "VBG": "according",
    "CC": "and but or",
    "POS": "'s",
    "WP": "who whom what",
    "WP$": "whose",
    "WDT": "which",
    "WRB": "where when how",
}


@cache
def penn_tags() -> dict[str, str]:
    """Word -> its usual Penn tag."""
    return {word: tag for tag, words in _WORDS_BY_TAG.items() for word in listed(words)}


LEMMAS: dict[str, str] = {
    "was": "be", "were": "be", "is": "be", "are": "be", "been": "be", "had": "have", "has": "have",
    "did": "do", "does": "do", "began": "begin", "refused": "refuse", "said": "say", "knew": "know",
    "made": "make", "became": "become", "went": "go", "turned": "turn", "an": "a", "known": "know",
    "mentioned": "mention", "discussed": "discuss", "more": "much", "people": "people", "felt": "feel",
    "rained": "rain", "lost": "lose", "fell": "fall", "ended": "end", "grew": "grow", "earned": "earn",
    "spoke": "speak", "held": "hold", "filed": "file", "drew": "draw", "came": "come",
    "caused": "cause", "paid": "pay", "stopped": "stop", "won": "win", "finished": "finish",
    "filled": "fill", "slept": "sleep", "snowed": "snow", "dies": "die", "employed": "employ",
    "borrowed": "borrow", "according": "accord", "n't": "not",
}  # fmt: skip


def lemma(word: str, tag: str) -> str:
    """The lemma of a fixed word."""
    if tag == "NNP":
        return word
    if tag == "NNS" and word not in LEMMAS:
        return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")
    return LEMMAS.get(word, word.lower())
