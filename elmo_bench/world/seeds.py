"""Randomness by name: every part of the world has its own generator, so none depends on another's length."""

from __future__ import annotations

import random


def seeded(*keys: str | int) -> random.Random:
    """A generator that depends on its keys alone; text seeds are hashed by `random` itself, not by hash()."""
    return random.Random("elmo_bench world/" + "/".join(str(key) for key in keys))
