"""The typed form of conf/bilm: the sizes of a biLM and how it is pre-trained."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from elmo_bench.config import Config, TrainerConfig

MAXIMUM_CHARACTERS = 50
CHARACTERS = 261  # 256 bytes and five marks
CHARACTERS_WITH_MISSING = 262


def _as_text(name: Any) -> Any:
    """YAML and the command line read a name such as 2024 as an integer."""
    return str(name) if type(name) is int else name


ModelName = Annotated[str, BeforeValidator(_as_text), Field(pattern=r"^\w[\w.+-]*$")]
"""The name of a model's directory, which is never `.` or `..`: old work under this name is deleted."""


class BilmOptions(Config):
    """The sizes that decide the shape of every array of a biLM (the paper's section 3.4).

    `architecture` in conf/bilm and the options.json of a weight file both hold these values.
    """

    character_dim: int = Field(default=16, ge=1)
    filters: tuple[tuple[int, int], ...]  # (width, count) each
    highways: int = Field(ge=0)
    layers: int = Field(default=2, ge=1)
    cell_dim: int = Field(ge=1)  # the paper's LSTM units
    projection_dim: int = Field(ge=1)
    # The default length is not dumped, so the identities of earlier models do not change.
    maximum_characters: int = Field(
        default=MAXIMUM_CHARACTERS, ge=3, exclude_if=lambda length: length == MAXIMUM_CHARACTERS
    )
    cell_clip: float | None = Field(default=3.0, gt=0)
    projection_clip: float | None = Field(default=3.0, gt=0)
    use_skip_connections: bool = True

    @property
    def filter_count(self) -> int:
        """The total number of features of all convolutions."""
        return sum(count for _, count in self.filters)

    @property
    def has_token_projection(self) -> bool:
        """The published code omits the projection if it would not change the width."""
        return self.filter_count != self.projection_dim

    @property
    def has_state_projection(self) -> bool:
        """Likewise for the projection of an LSTM's output."""
        return self.cell_dim != self.projection_dim


class BatchConfig(Config):
    """The input of a step: whole sentences from a zero state, or windows of streams with carried state."""

    kind: Literal["sentences", "streams"]
    tokens: int = Field(default=4096, ge=1)  # sentences: predictions of one direction
    # No sentence is cut. The key stays in identities, so that earlier models keep theirs.
    longest: None = None
    rows: int = Field(default=128, ge=1)  # streams
    window: int = Field(default=20, ge=1)  # streams


class DescentConfig(Config):
    """The optimiser and its schedule."""

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
    architecture: BilmOptions
    vocabulary: int = Field(ge=1)  # number of words in the softmax, the most frequent ones
    negatives: int = Field(ge=0)  # of the sampled softmax; 0 is the full softmax
    dropout: float = Field(ge=0, lt=1)
    batches: BatchConfig
    descent: DescentConfig
    epochs: float | None = Field(default=None, gt=0)  # either this
    steps: int | None = Field(default=None, ge=1)  # or this
    # Training stops after so many rows of the curve without a new best, but not within the first epoch.
    # Without patience, as for most models, the key is left out of dumps and so of identities.
    patience: int | None = Field(default=None, ge=1, exclude_if=lambda rows: rows is None)
    products: Literal["float32", "bfloat16", "auto"] = "float32"  # auto: bfloat16 where the processor has it
    # fast: the character network as one product in the type of `products`, and oneDNN's products in float32.
    # Last bits differ. Older models had plain, which is left out of dumps and so of identities.
    arithmetic: Literal["plain", "fast"] = Field(default="plain", exclude_if=lambda kind: kind == "plain")
    storage: Literal["float32", "float16"] = "float32"  # weights are rounded before they are measured
    curve_every: int = Field(default=500, ge=1)  # steps
    curve_tokens: int = Field(default=20_000, ge=1)  # size of the held-out text for the curve

    @model_validator(mode="after")
    def _has_one_length(self) -> BilmConfig:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError(
                f"expected either epochs or steps, got epochs={self.epochs} and steps={self.steps}; "
                "set the other to null, such as bilm.steps=20 bilm.epochs=null"
            )
        return self


class LimitsConfig(Config):
    """When to stop early; the same command resumes later."""

    minutes: float | None = Field(default=None, gt=0)
    steps: int | None = Field(default=None, ge=1)


class PretrainConfig(Config):
    """Everything a user may change about the pre-training of a biLM, except texts and paths."""

    bilm: BilmConfig
    trainer: TrainerConfig
    limits: LimitsConfig = LimitsConfig()
    seed: int = Field(default=1, ge=0, lt=2**31)
