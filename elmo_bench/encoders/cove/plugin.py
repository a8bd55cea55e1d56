"""`encoder=cove`: the published weights of CoVe, and the word vectors that they read."""

from __future__ import annotations

from pathlib import Path

from pydantic.dataclasses import dataclass

from elmo_bench.data.mapped_vectors import map_vectors
from elmo_bench.data.vectors import read_dimension
from elmo_bench.encoders.cards import keep_card
from elmo_bench.encoders.protocol import Encoder, EncoderCard, EncoderContext, EncoderPlugin, FoundEncoder
from elmo_bench.hashing import hash_files
from elmo_bench.types import DataMissingError, UsageError

ALGORITHM = "cove 1"
"""Change the number when the same files and settings give other vectors."""


@dataclass(frozen=True, kw_only=True)
class Cove(EncoderPlugin):
    """`encoder=cove encoder.weights=FILE encoder.vectors=FILE`."""

    weights: Path
    vectors: Path
    lower_case: bool
    get: dict[str, str]  # how to obtain a file, by its setting

    def find(self, context: EncoderContext) -> FoundEncoder:
        for key, path in (("weights", self.weights), ("vectors", self.vectors)):
            if not path.is_file():
                remedy = f". To get it: {self.get[key]}" if key in self.get else ""
                raise DataMissingError(f"{path}: no such file (encoder.{key}){remedy}")
        card = keep_card(context, self.fingerprint, lambda: self.describe(context.name))
        return FoundEncoder(card, lambda: self.load(card, context))

    def fingerprint(self) -> str:
        """The fingerprint of the files as they are now."""
        content = hash_files([self.weights, self.vectors])
        return self.make_fingerprint(ALGORITHM, content, without={"weights", "vectors", "get"})

    def describe(self, name: str) -> EncoderCard:
        """The card, by the sizes of the weights; vectors of another size are refused."""
        from elmo_bench.encoders.cove.lstm import read_layers

        layers = read_layers(self.weights)
        dim = read_dimension(self.vectors)
        if dim != layers[0].input_size:
            raise UsageError(
                f"{self.vectors}: the weights read vectors of {layers[0].input_size} dimensions, these have "
                f"{dim} (encoder.vectors); expected glove.840B.300d.txt"
            )
        return EncoderCard(
            name=name,
            fingerprint=self.fingerprint(),
            layer_count=len(layers),
            dim=2 * layers[0].hidden_size,
            parameters=sum(weight.numel() for layer in layers for weight in layer.parameters()),
        )

    def load(self, card: EncoderCard, context: EncoderContext) -> Encoder:
        """The encoder of these files."""
        from elmo_bench.encoders.cove.lstm import CoveEncoder, read_layers
        from elmo_bench.tensors import check_device

        device = check_device(context.device, "encoder.device")
        vectors = map_vectors(self.vectors, context.paths.cache, context.log)
        return CoveEncoder(
            card, [layer.to(device) for layer in read_layers(self.weights)], vectors, self.lower_case
        )
