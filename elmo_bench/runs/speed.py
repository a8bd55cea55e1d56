"""How fast an encoder is: measured while a run fills the store, and kept for the runs that read it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from elmo_bench.config import RunConfig
from elmo_bench.encoders.protocol import Encoder, EncoderCard, FoundEncoder, Layers
from elmo_bench.files import read_kept, write_kept
from elmo_bench.hashing import hash_value
from elmo_bench.records import EncoderFacts, EncodingSpeed
from elmo_bench.runs.environment import describe_processor
from elmo_bench.types import Words

SPEEDS = "speeds"  # below paths.cache: one file per encoder and kind of machine


@dataclass
class Stopwatch:
    """The words that an encoder was given, and the seconds that it took for them."""

    tokens: int = 0
    seconds: float = 0.0
    keep: Callable[[Stopwatch], object] = field(default=lambda _: None, compare=False)  # the first of them

    def time(self, found: FoundEncoder) -> FoundEncoder:
        """The same encoder; the stopwatch runs while it computes, but not while it is loaded."""
        return replace(found, load=lambda: TimedEncoder(found.load(), self))

    def add(self, tokens: int, seconds: float) -> None:
        """Count some more.

        The first measurement is kept at once: a run that is killed when the store is full, and before
        everything is kept, finds nothing to encode and to measure when it goes on.
        """
        is_first = self.tokens == 0
        self.tokens += tokens
        self.seconds += seconds
        if is_first:
            self.keep(self)


class TimedEncoder:
    """An encoder whose computing is timed."""

    def __init__(self, encoder: Encoder, stopwatch: Stopwatch) -> None:
        self.fingerprint, self.layer_count, self.dim = encoder.fingerprint, encoder.layer_count, encoder.dim
        self._encoder = encoder
        self._stopwatch = stopwatch

    def layers(self, sentences: Sequence[Words]) -> list[Layers]:
        """What the encoder gives; the seconds are added to the stopwatch."""
        started = time.perf_counter()
        found = self._encoder.layers(sentences)
        self._stopwatch.add(sum(map(len, sentences)), time.perf_counter() - started)
        return found


def describe_encoder(
    config: RunConfig, card: EncoderCard, token_bytes: int, stopwatch: Stopwatch
) -> EncoderFacts:
    """What an encoder costs, for a record; its speed is the longest measurement on this machine."""
    return EncoderFacts(
        layers=card.layer_count,
        dim=card.dim,
        parameters=card.parameters,
        token_bytes=token_bytes,
        speed=keep_speed(config, card, stopwatch),
    )


def keep_speed(config: RunConfig, card: EncoderCard, stopwatch: Stopwatch) -> EncodingSpeed | None:
    """The measurement of this run, or an earlier one if that is of more tokens; the longer one is kept."""
    device, threads = config.encoder.device, torch.get_num_threads()
    processor = describe_processor().get("model name", "unknown processor")
    machine = hash_value([device, threads, processor])  # of several that share a cache
    path = config.paths.cache / SPEEDS / f"{card.fingerprint[:24]}-{machine[:8]}.speed"
    earlier = _read_speed(path)
    if not stopwatch.tokens or (earlier and earlier.tokens >= stopwatch.tokens):
        return earlier
    measured = EncodingSpeed(
        tokens=stopwatch.tokens,
        seconds=stopwatch.seconds,
        device=device,
        threads=threads,
        processor=processor,
    )
    write_kept(path, measured.model_dump_json(indent=1).encode())
    return measured


def _read_speed(path: Path) -> EncodingSpeed | None:
    """A measurement that was kept; a damaged one is measured again."""
    kept = read_kept(path)
    return EncodingSpeed.model_validate_json(kept) if kept is not None else None
