"""Adjectives: what kinds of things they go with, and what they are worth in a review."""

from __future__ import annotations

from elmo_bench.sample.listing import listed

BY_KIND: dict[str, tuple[str, ...]] = {
    "person": listed(
        "shy clever jealous polite sleepy stubborn talkative bald freckled witty nervous devout barefoot "
        "ambitious forgetful"
    ),
    "place": listed(
        "coastal walled mountainous tropical remote sunny inland hilly medieval windswept snowbound fertile "
        "overpopulated swampy picturesque"
    ),
    "organisation": listed(
        "bankrupt state-owned multinational solvent profitable nationwide unionised regional privatised "
        "non-profit insolvent listed federal municipal subsidised"
    ),
    "work": listed(
        "two-act unpublished best-selling posthumous satirical lyrical anonymous rhyming unabridged "
        "illustrated black-and-white autobiographical epic unfinished romantic"
    ),
    "food": listed("ripe stale salted fresh raw spicy crunchy juicy"),
    "clothing": listed("woollen silk striped knitted ragged velvet torn faded"),
    "vehicle": listed("speeding rusty armoured two-door parked diesel second-hand overloaded"),
    "animal": listed("tame wild furry hungry four-legged stray spotted nocturnal"),
    "machine": listed("electric automatic noisy hydraulic faulty steam-driven portable obsolete"),
    "substance": listed("liquid molten sticky solid pure crude powdered frozen"),
    "fragile": listed("brittle thin transparent porcelain hand-blown delicate crystal chipped"),
    "gift": listed("precious lost golden engraved treasured antique tiny promised"),
    "organism": listed("leafy withered evergreen blossoming shady potted thorny wilted"),
    "body": listed("swollen sore left right aching bruised stiff weak"),
    "calamity": listed("sudden severe terrible deadly seasonal violent unexpected prolonged"),
    "weapon": listed("loaded sharp rusted deadly pointed heavy antique blunt"),
}

TIMES: tuple[str, ...] = (
    "yesterday", "last year", "in May", "on Monday", "two weeks ago",
    "once more", "in the end", "that/DT night", "on Friday", "in June",
)  # fmt: skip

MANNERS: tuple[str, ...] = listed(
    "quietly suddenly often finally never gladly rarely soon quickly eventually secretly repeatedly"
)
