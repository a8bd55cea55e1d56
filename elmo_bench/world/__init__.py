"""The built-in generated world: plain text and eight labelled sets, without a network or a licence."""

from elmo_bench.world.writing import WORLD_VERSION, WorldSize, write_world

__all__ = ["WORLD_VERSION", "WorldSize", "write_world"]
