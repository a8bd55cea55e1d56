"""How an event may be told: sentence patterns as data.

Slots: S subject, O object with its preposition, N bare object, BY agent of a passive, R recipient, T how it
went on, W when, M manner; N2 and N3 a further subject or object; V:TAG the verb in a form, PRES:x in the
present; BE:x, HAVE:x, DO:x auxiliaries agreeing with slot x; WHO:x, WHOM:x the relative pronoun for x; P the
preposition alone; X the subject without a role, SELF a pronoun for it, OWN "in her own way"; Z and Z2 "
"an ending
or opening that tells nothing. Everything else is a word.
"""

from __future__ import annotations

from dataclasses import dataclass

from elmo_bench.world.story import Event


@dataclass(frozen=True)
class Frame:
    """A pattern and how often it is used among those that fit."""

    pattern: str
    weight: int = 2


_ANY_OBJECT = (
    Frame("S V:VBD O T .", 8),
    Frame("S V:VBD O .", 5),
    Frame("S V:VBD O W .", 4),
    Frame("S M V:VBD O T .", 3),
    Frame("S HAVE:S V:VBN O ."),
    Frame("S will V:VB O T ."),
    Frame("S may V:VB O W ."),
    Frame("S DO:S not V:VB O ."),
    Frame("S PRES:S O T .", 3),
    Frame("S began to V:VB O ."),
    Frame("S refused to V:VB O W ."),
    Frame("W , S V:VBD O ."),
    Frame("according to the report , S V:VBD O .", 1),
    Frame("S , WHO:S V:VBD O , Z ."),
    Frame("Z2 that S had V:VBN O ."),
    Frame("X said that SELF had V:VBN O .", 3),
    Frame("S V:VBD O OWN .", 3),
    Frame("S , it is said/VBN , V:VBD O .", 1),
)
TRANSITIVE: tuple[Frame, ...] = (
    *_ANY_OBJECT,
    Frame("N BE:N V:VBN BY T .", 5),
    Frame("N BE:N V:VBN T .", 4),
    Frame("N HAVE:N been V:VBN BY ."),
    Frame("N , V:VBN BY W , Z .", 3),
    Frame("N , WHOM:N S V:VBD W , Z ."),
    Frame("it was N that S V:VBD T ."),
    Frame("S and N2 V:VBD N W ."),
    Frame("S V:VBD N and N3 T .", 3),
)
PREPOSITIONAL: tuple[Frame, ...] = (
    *_ANY_OBJECT,
    Frame("N , WHOM:N S V:VBD P , Z ."),
    Frame("S V:VBD O and N3 T ."),
    Frame("S V:VBD T O .", 3),
)
INTRANSITIVE: tuple[Frame, ...] = (
    Frame("S V:VBD T .", 8),
    Frame("S M V:VBD .", 4),
    Frame("S PRES:S T .", 3),
    Frame("S will V:VB T ."),
    Frame("S DO:S not V:VB ."),
    Frame("S , WHO:S V:VBD T , Z ."),
    Frame("W , S V:VBD T ."),
    Frame("Z2 that S had V:VBN T ."),
    Frame("S and N2 V:VBD T ."),
    Frame("X said that SELF had V:VBN T ."),
    Frame("S V:VBD OWN .", 2),
)
DITRANSITIVE: tuple[Frame, ...] = (
    Frame("S V:VBD R N T .", 5),
    Frame("S V:VBD N to R .", 4),
    Frame("S V:VBD R N .", 3),
    Frame("N BE:N V:VBN to R BY .", 2),
    Frame("R BE:R V:VBN N T .", 3),
    Frame("S will V:VB R N ."),
)
INCHOATIVE: tuple[Frame, ...] = (
    Frame("N V:VBD T .", 6),
    Frame("N M V:VBD .", 3),
    Frame("N PRES:N T ."),
    Frame("N will V:VB T ."),
    Frame("W , N V:VBD ."),
)

NEUTRAL_ENDINGS: tuple[str, ...] = (
    "made headlines",
    "became well known",
    "had a difficult year",
    "drew/VBD attention",
    "came/VBD up again",
    "caused/VBD a debate",
)
NEUTRAL_OPENINGS: tuple[str, ...] = (
    "the letter said",
    "nobody knew",
    "it was clear",
    "the rumour went",
    "some people believe",
    "it turned out/RP",
)

CLAUSES: dict[str, tuple[str, ...]] = {
    "person": (
        "who was late", "who felt tired", "who spoke little", "who was ill/JJ",
        "who knew her well", "who never slept/VBD", "who had no money", "who was not there",
    ),
    "place": (
        "where it rained", "where the road ended", "where nothing grew",
        "where few people live/VBP",
        "where it seldom snowed/VBD", "where the river turned",
        "where the train stopped/VBD", "where it was quiet/JJ",
    ),
    "organisation": (
        "which lost money", "which employed ten people", "whose sales fell", "which filed no report",
        "which earned little", "which held a meeting", "whose debts grew",
        "which paid/VBD no tax",
    ),
    "work": (
        "which nobody finished/VBD", "which ended well", "which had no hero",
        "which filled/VBD three volumes",
        "which is too long", "whose hero dies/VBZ", "which won/VBD a prize", "which had a sad/JJ ending",
    ),
}  # fmt: skip


def frames_for(event: Event, *, inchoative: bool = False) -> tuple[Frame, ...]:
    """The patterns that can tell an event."""
    if event.recipient is not None:
        return DITRANSITIVE
    if event.object is None:
        return INTRANSITIVE
    if inchoative and event.relation.inchoative:
        return INCHOATIVE
    return PREPOSITIONAL if event.relation.preposition else TRANSITIVE
