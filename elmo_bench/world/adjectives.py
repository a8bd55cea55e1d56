"""Adjectives: what kinds of things they go with, and what they are worth in a review."""

from __future__ import annotations

from elmo_bench.world.listing import listed

BY_KIND: dict[str, tuple[str, ...]] = {
    "person": listed("shy clever jealous polite sleepy stubborn"),
    "place": listed("coastal walled mountainous tropical remote sunny"),
    "organisation": listed("bankrupt state-owned multinational solvent profitable nationwide"),
    "work": listed("two-act unpublished best-selling posthumous satirical lyrical"),
    "food": listed("ripe stale salted fresh"),
    "clothing": listed("woollen silk striped knitted"),
    "vehicle": listed("speeding rusty armoured two-door"),
    "animal": listed("tame wild furry hungry"),
    "machine": listed("electric automatic noisy hydraulic"),
    "substance": listed("liquid molten sticky solid"),
    "fragile": listed("brittle thin transparent porcelain"),
    "gift": listed("precious lost golden engraved"),
    "organism": listed("leafy withered evergreen blossoming"),
    "body": listed("swollen sore left right"),
    "calamity": listed("sudden severe terrible deadly"),
    "weapon": listed("loaded sharp rusted deadly"),
}

TIMES: tuple[str, ...] = (
    "yesterday", "last year", "in May", "on Monday", "two weeks ago",
    "once more", "in the end", "that/DT night", "on Friday", "in June",
)  # fmt: skip

MANNERS: tuple[str, ...] = listed(
    "quietly suddenly often finally never gladly rarely soon quickly eventually secretly repeatedly"
)
