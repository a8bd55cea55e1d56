"""Which frozen encoder stands behind ELMo, made or converted once where that is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from elmo_bench.config import EncoderConfig, PathsConfig
from elmo_bench.representations.encoder import Encoder, EncoderCard
from elmo_bench.types import BenchError, Say


@dataclass(frozen=True)
class FoundEncoder:
    """An encoder's card now, its weights when somebody asks for them."""

    card: EncoderCard
    load: Callable[[], Encoder]


def find_encoder(config: EncoderConfig, paths: PathsConfig, say: Say) -> FoundEncoder:
    raise BenchError(f"{config.name} {paths} {say}")
