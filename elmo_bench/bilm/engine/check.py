"""Compare the fast engine with the plain model on this machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from elmo_bench.bilm.engine.embedder import Embedder
from elmo_bench.bilm.model import BiLM, batch_characters
from elmo_bench.bilm.settings import BilmOptions
from elmo_bench.types import Words

SMALL = BilmOptions(
    character_dim=4, filters=((1, 8), (2, 8), (5, 16)), highways=2, layers=2, cell_dim=48, projection_dim=16
)


def largest_difference(sentences: Sequence[Words]) -> float:
    """The largest absolute difference between the two, over some sentences, for a small random biLM."""
    model = BiLM(SMALL, torch.Generator().manual_seed(0)).eval()
    differences = [0.0]
    for words, fast in zip(sentences, Embedder(model).layers(sentences), strict=True):
        with torch.no_grad():
            plain, _ = model(*batch_characters([words], SMALL.maximum_characters))
        differences.append(float(np.abs(fast - plain[0, :, 1:-1].numpy()).max(initial=0)))
    return max(differences)
