"""BiLMs that are made when a run first needs them: pre-trained on the generated world, or left untrained."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

import torch
from pydantic.dataclasses import dataclass

from elmo_bench.bilm.files import find_model, save_bilm
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.settings import BilmConfig, PretrainConfig
from elmo_bench.data.text import TextCorpus
from elmo_bench.encoders.bilm import BilmPlugin, bilm_card
from elmo_bench.encoders.protocol import EncoderContext, PlannedEncoder
from elmo_bench.files import make_once
from elmo_bench.hashing import BILM_NUMERICS, hash_value
from elmo_bench.sources import generate_world

UNTRAINED_SEED = 1
RECORD_FILE = "record.json"  # pre-training writes it last


@dataclass(frozen=True, kw_only=True)
class MadeBilm(BilmPlugin):
    """A biLM that is made below paths.cache; the directory's name has a hash of what decides its weights."""

    bilm: BilmConfig

    @abstractmethod
    def make(self, context: EncoderContext) -> Path:
        """The model's directory, filled if it is not there yet."""

    def locate(self, context: EncoderContext) -> tuple[Path, Path]:
        return find_model(self.make(context))

    def language_model(self, context: EncoderContext) -> Path:
        return self.make(context)


@dataclass(frozen=True, kw_only=True)
class PretrainedBilm(MadeBilm):
    """`encoder=sample`: pre-trained on the generated world's text."""

    def plan(self, context: EncoderContext) -> PlannedEncoder | None:
        target = self.target(context, self.world(context))
        if (target / RECORD_FILE).is_file():
            return None
        sizes = self.bilm.architecture
        return PlannedEncoder(bilm_card(context.name, "", sizes.layers, sizes.projection_dim), target)

    def make(self, context: EncoderContext) -> Path:
        world = self.world(context)
        target = self.target(context, world)
        if (target / RECORD_FILE).is_file():
            return target
        # Imported only to train: pre-training brings Lightning along.
        from elmo_bench.bilm.training.pretraining import Pretraining, pretrain

        config = PretrainConfig(bilm=self.bilm, trainer=context.trainer)
        work = target.with_name(f".{target.name}-work")
        return pretrain(Pretraining(config, TextCorpus.find(world / "text"), target, work), context.say)

    def world(self, context: EncoderContext) -> Path:
        return generate_world(context.paths.cache / "world", context.say)

    def target(self, context: EncoderContext, world: Path) -> Path:
        recipe = [self.bilm.model_dump(mode="json"), world.name, BILM_NUMERICS]
        return model_directory(context, recipe)


@dataclass(frozen=True, kw_only=True)
class UntrainedBilm(MadeBilm):
    """`encoder=untrained`: the same architecture with random weights, as a control without pre-training."""

    def make(self, context: EncoderContext) -> Path:
        architecture = self.bilm.architecture
        recipe = [architecture.model_dump(mode="json"), BILM_NUMERICS]

        def write(directory: Path) -> None:
            generator = torch.Generator().manual_seed(UNTRAINED_SEED)
            save_bilm(BiLM(architecture, generator), directory)

        return make_once(model_directory(context, recipe), write, context.say)


def model_directory(context: EncoderContext, recipe: object) -> Path:
    """Where a model that is made from a recipe is kept."""
    return context.paths.cache / "models" / f"{context.name}-{hash_value(recipe)[:12]}"
