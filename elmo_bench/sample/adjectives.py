"""Adjectives: what kinds of things they go with, and what they are worth in a review."""

from __future__ import annotations

from elmo_bench.sample.listing import listed

BY_KIND: dict[str, tuple[str, ...]] = {
    "person": listed("shy clever jealous polite sleepy stubborn talkative bald"),
    "place": listed("coastal walled mountainous tropical remote sunny inland hilly"),
    "organisation": listed(
        "bankrupt state-owned multinational solvent profitable nationwide unionised regional"
    ),
    "work": listed("two-act unpublished best-selling posthumous satirical lyrical anonymous rhyming"),
    "food": listed("ripe stale salted fresh raw"),
    "clothing": listed("woollen silk striped knitted ragged"),
    "vehicle": listed("speeding rusty armoured two-door parked"),
    "animal": listed("tame wild furry hungry four-legged"),
    "machine": listed("electric automatic noisy hydraulic faulty"),
    "substance": listed("liquid molten sticky solid pure"),
    "fragile": listed("brittle thin transparent porcelain hand-blown"),
    "gift": listed("precious lost golden engraved treasured"),
    "organism": listed("leafy withered evergreen blossoming shady"),
    "body": listed("swollen sore left right aching"),
    "calamity": listed("sudden severe terrible deadly seasonal"),
    "weapon": listed("loaded sharp rusted deadly pointed"),
}

TIMES: tuple[str, ...] = (
    "yesterday", "last year", "in May", "on Monday", "two weeks ago",
    "once more", "in the end", "that/DT night", "on Friday", "in June",
)  # fmt: skip

MANNERS: tuple[str, ...] = listed(
    "quietly suddenly often finally never gladly rarely soon quickly eventually secretly repeatedly"
)
