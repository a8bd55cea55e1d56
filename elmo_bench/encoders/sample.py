"""BiLMs that are made when a run first needs them: pre-trained on the generated world, or untrained."""

from __future__ import annotations

from pathlib import Path

from pydantic.dataclasses import dataclass

from elmo_bench.bilm.identity import BILM_NUMERICS
from elmo_bench.bilm.layout import find_model
from elmo_bench.bilm.settings import BilmConfig, BilmOptions, PretrainConfig
from elmo_bench.bilm.verification import is_intact
from elmo_bench.data.text import TextCorpus
from elmo_bench.encoders.bilm import BilmPlugin, RandomBilm, bilm_card
from elmo_bench.encoders.protocol import EncoderContext, PlannedEncoder
from elmo_bench.hashing import hash_value
from elmo_bench.sources import generate_world


@dataclass(frozen=True, kw_only=True)
class PretrainedBilm(BilmPlugin):
    """`encoder=sample`: pre-trained on the generated world's text, below paths.cache.

    The directory's name contains a hash of everything that decides the weights.
    """

    bilm: BilmConfig

    def locate(self, context: EncoderContext) -> tuple[Path, Path]:
        return find_model(self.make(context))

    def sizes(self, context: EncoderContext) -> BilmOptions:
        return self.bilm.architecture

    def language_model(self, context: EncoderContext) -> Path:
        return self.make(context)

    def plan(self, context: EncoderContext) -> PlannedEncoder | None:
        target = self.target(context, generate_world(context.paths.cache, context.log))
        if is_intact(target):
            return None
        sizes = self.bilm.architecture
        return PlannedEncoder(bilm_card(context.name, "", sizes.layers, sizes.projection_dim), target)

    def make(self, context: EncoderContext) -> Path:
        """The model's directory; the model is trained if it does not exist yet, or is damaged."""
        world = generate_world(context.paths.cache, context.log)
        target = self.target(context, world)
        work = target.with_name(f".{target.name}-work")
        if is_intact(target) and not work.exists():
            return target
        # Imported only for training, because pre-training imports Lightning.
        from elmo_bench.bilm.training.pretraining import Pretraining, pretrain

        config = PretrainConfig(bilm=self.bilm, trainer=context.trainer)
        corpus = TextCorpus.find(world / "text")
        return pretrain(Pretraining(config, corpus, target, work, replace_damaged=True), context.log)

    def target(self, context: EncoderContext, world: Path) -> Path:
        """Where the model is or will be."""
        recipe = [self.bilm.model_dump(mode="json"), world.name, BILM_NUMERICS]
        return context.paths.cache / "models" / f"{context.name}-{hash_value(recipe)[:12]}"


@dataclass(frozen=True, kw_only=True)
class UntrainedBilm(BilmPlugin):
    """`encoder=untrained`: the untrained twin of `sample`, under the name of older records."""

    bilm: BilmConfig

    def locate(self, context: EncoderContext) -> tuple[Path, Path]:
        return RandomBilm(architecture=self.bilm.architecture).locate(context)
