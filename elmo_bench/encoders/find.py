"""From the configuration to the encoder: load the plug-in, check its settings, find the encoder."""

from __future__ import annotations

from elmo_bench.config import EncoderConfig, PathsConfig, TrainerConfig
from elmo_bench.encoders.protocol import EncoderContext, EncoderPlugin, FoundEncoder, PlannedEncoder
from elmo_bench.plugins import fill_settings, find_class
from elmo_bench.types import Log


def load_plugin(config: EncoderConfig) -> EncoderPlugin:
    """The plug-in that the configuration names, with its settings checked."""
    kind: type[EncoderPlugin] = find_class(config.plugin, EncoderPlugin, "encoder")
    return fill_settings(kind, config.settings, "encoder")


def choose_plugin(config: EncoderConfig, context: EncoderContext) -> EncoderPlugin:
    """The configured encoder, or its untrained twin."""
    plugin = load_plugin(config)
    return plugin.untrained(context) if config.untrained else plugin


def find_encoder(config: EncoderConfig, paths: PathsConfig, trainer: TrainerConfig, log: Log) -> FoundEncoder:
    """The encoder that the configuration names; it is made if it does not exist yet."""
    context = EncoderContext(config.full_name, paths, trainer, log, config.device)
    return choose_plugin(config, context).find(context)


def plan_encoder(
    config: EncoderConfig, paths: PathsConfig, trainer: TrainerConfig, log: Log
) -> PlannedEncoder | None:
    """The encoder that would have to be made first; None if it exists."""
    context = EncoderContext(config.full_name, paths, trainer, log, config.device)
    return choose_plugin(config, context).plan(context)
