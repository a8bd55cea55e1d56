"""`encoder=transformer`: a model of Hugging Face transformers in a directory or on the Hub."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from elmo_bench.bilm.identity import Precision
from elmo_bench.encoders.cards import keep_card, refuse_changed
from elmo_bench.encoders.protocol import Encoder, EncoderCard, EncoderContext, EncoderPlugin, FoundEncoder
from elmo_bench.encoders.transformer.files import (
    CONFIG,
    TOKENIZER,
    TOKENIZER_SETTINGS,
    ModelFiles,
    read_files,
)
from elmo_bench.encoders.transformer.hub import find_files
from elmo_bench.encoders.transformer.packages import quiet, require_packages
from elmo_bench.files import make_once
from elmo_bench.hashing import hash_value

ALGORITHM = "transformer 1"
"""Change the number when the same files and settings give other vectors."""

UNTRAINED_SEED = 1

Pooling = Literal["first", "last", "mean"]


@dataclass(frozen=True, kw_only=True)
class Transformer(EncoderPlugin):
    """The embeddings and every layer of an encoder or a decoder."""

    model: str  # a directory, or OWNER/NAME on the Hub
    revision: str | None = None  # on the Hub: the commit
    local_files_only: bool = False  # never ask the Hub, only its cache
    pooling: Pooling  # which of its pieces are the vector of a word
    window: int = Field(gt=0)  # pieces that are read at once; fewer if the model cannot read as many
    precision: Precision = "float32"

    def files(self, context: EncoderContext) -> ModelFiles:
        """The files of the model."""
        return find_files(self.model, self.revision, self.local_files_only, context.log)

    def find(self, context: EncoderContext) -> FoundEncoder:
        require_packages()
        files = self.files(context)

        def describe() -> EncoderCard:
            from elmo_bench.encoders.transformer.loading import read_sizes

            sizes = read_sizes(files)
            return EncoderCard(
                context.name,
                self.fingerprint(files),
                sizes.layer_count,
                sizes.dim,
                parameters=sizes.parameters,
                packages=("transformers", "tokenizers"),
            )

        card = keep_card(context, lambda: self.fingerprint(files), describe)
        return FoundEncoder(card, lambda: self.load(files, card, context.device))

    def fingerprint(self, files: ModelFiles) -> str:
        """The fingerprint of the files as they are now."""
        location = {"model", "revision", "local_files_only"}
        return self.make_fingerprint(ALGORITHM, *files.digests(), without=location)

    def load(self, files: ModelFiles, card: EncoderCard, device: str) -> Encoder:
        """The encoder of these files."""
        import torch

        from elmo_bench.encoders.transformer.engine import LoadedTransformer
        from elmo_bench.encoders.transformer.loading import load_model
        from elmo_bench.encoders.transformer.pieces import WordPieces
        from elmo_bench.tensors import check_device

        target = check_device(device, "encoder.device")
        pieces = WordPieces(files)
        dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16}[self.precision]
        model = load_model(files, dtype, target)
        refuse_changed(card, self.fingerprint(files))
        return LoadedTransformer(card, model, pieces, self.pooling, self.window)

    def untrained(self, context: EncoderContext) -> EncoderPlugin:
        return RandomTransformer(
            model=self.model,
            revision=self.revision,
            local_files_only=self.local_files_only,
            pooling=self.pooling,
            window=self.window,
            precision=self.precision,
        )


@dataclass(frozen=True, kw_only=True)
class RandomTransformer(Transformer):
    """The same architecture and tokeniser with random weights, the same in every run; below paths.cache."""

    def files(self, context: EncoderContext) -> ModelFiles:
        trained = super().files(context)
        architecture, *tokenizer, _weights = trained.digests()
        recipe = hash_value([ALGORITHM, UNTRAINED_SEED, architecture, tokenizer])

        def write(directory: Path) -> None:
            from elmo_bench.encoders.transformer.loading import make_random_model

            model = make_random_model(trained, UNTRAINED_SEED)
            with quiet():
                model.save_pretrained(directory)
            for name in (CONFIG, TOKENIZER, TOKENIZER_SETTINGS):
                if (trained.directory / name).is_file():
                    shutil.copyfile(trained.directory / name, directory / name)

        target = context.paths.cache / "models" / f"untrained-{recipe[:12]}"
        return read_files(make_once(target, write, context.log), self.model)
