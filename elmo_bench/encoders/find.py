"""From the configuration to the encoder: load the plug-in, check its settings, find the encoder."""

from __future__ import annotations

from elmo_bench.config import EncoderConfig, PathsConfig, TrainerConfig
from elmo_bench.encoders.protocol import EncoderContext, EncoderPlugin, FoundEncoder, PlannedEncoder
from elmo_bench.plugins import fill_settings, find_class
from elmo_bench.types import Say


def load_plugin(config: EncoderConfig) -> EncoderPlugin:
    """The plug-in that the configuration names, with its settings checked."""
    plugin: type[EncoderPlugin] = find_class(config.plugin, EncoderPlugin, "encoder.plugin")
    return fill_settings(plugin, config.settings, "encoder")


def find_encoder(config: EncoderConfig, paths: PathsConfig, trainer: TrainerConfig, say: Say) -> FoundEncoder:
    """The encoder that the configuration names; one that does not exist yet is made."""
    return load_plugin(config).find(EncoderContext(config.name, paths, trainer, say))


def plan_encoder(
    config: EncoderConfig, paths: PathsConfig, trainer: TrainerConfig, say: Say
) -> PlannedEncoder | None:
    """The encoder that would have to be made first; None if it exists."""
    return load_plugin(config).plan(EncoderContext(config.name, paths, trainer, say))
