"""The typed form of conf/bilm: what a biLM is and how it is pre-trained."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from pydantic import Field, model_validator

from elmo_bench.bilm.options import BilmOptions
from elmo_bench.config import Config, TrainerConfig


class ArchitectureConfig(Config):
    """The sizes of a biLM, in this project's words; a weight file's options.json says the same."""

    character_dim: int = Field(default=16, ge=1)
    filters: tuple[tuple[int, int], ...]  # (width, count) each
    highways: int = Field(ge=0)
    layers: int = Field(default=2, ge=1)
    cell_dim: int = Field(ge=1)
    projection_dim: int = Field(ge=1)
    cell_clip: float | None = Field(default=3.0, gt=0)
    projection_clip: float | None = Field(default=3.0, gt=0)
    use_skip_connections: bool = True

    def options(self) -> BilmOptions:
        return BilmOptions(**self.model_dump())

    @classmethod
    def of(cls, options: BilmOptions) -> ArchitectureConfig:
        values = asdict(options)
        values.pop("maximum_characters")  # fixed in what we train
        return cls(**values)


class BatchConfig(Config):
    """What a step sees: whole sentences from a fresh state, or windows of streams whose state is carried."""

    kind: Literal["sentences", "streams"]
    tokens: int = Field(default=4096, ge=1)  # sentences: predictions of one direction
    longest: int | None = Field(default=None, ge=1)  # tokens after that many of a sentence are left out
    rows: int = Field(default=128, ge=1)  # streams
    window: int = Field(default=20, ge=1)  # streams


class DescentConfig(Config):
    """How the loss is brought down."""

    optimiser: Literal["adagrad", "adam"]
    lr: float = Field(gt=0)
    initial_accumulator: float = Field(default=1.0, ge=0)  # adagrad
    schedule: Literal["constant", "cosine"] = "constant"
    warmup: int = Field(default=0, ge=0)  # steps
    clip: float = Field(gt=0)  # of the gradient's global norm
    loss_scale: float = Field(default=1.0, gt=0)  # of the loss whose gradient is taken and clipped


class BilmConfig(Config):
    """One file of conf/bilm."""

    name: str
    architecture: ArchitectureConfig
    vocabulary: int = Field(ge=1)  # most frequent words with a row of their own in the softmax
    negatives: int = Field(ge=0)  # of the sampled softmax; 0 is the full softmax
    dropout: float = Field(ge=0, lt=1)
    batches: BatchConfig
    descent: DescentConfig
    epochs: float | None = Field(default=None, gt=0)  # either this
    steps: int | None = Field(default=None, ge=1)  # or this
    products: Literal["float32", "bfloat16", "auto"] = "float32"  # auto: bfloat16 where the processor has it
    storage: Literal["float32", "float16"] = "float32"  # weights are rounded before they are measured
    curve_every: int = Field(default=500, ge=1)  # steps
    curve_tokens: int = Field(default=20_000, ge=1)  # of the held-out text, for the curve

    @model_validator(mode="after")
    def _has_one_length(self) -> BilmConfig:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("expected either epochs or steps, and null for the other")
        return self


class LimitsConfig(Config):
    """When to stop for now; the same command goes on later."""

    minutes: float | None = Field(default=None, gt=0)
    steps: int | None = Field(default=None, ge=1)


class PretrainConfig(Config):
    """All that a person may change about a training run of a biLM, its texts and places apart."""

    bilm: BilmConfig
    trainer: TrainerConfig
    limits: LimitsConfig = LimitsConfig()
    seed: int = Field(default=1, ge=0, lt=2**31)
