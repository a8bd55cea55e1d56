"""Do the fast engine and the plain model compute the same on this machine?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from elmo_bench.bilm.characters import character_rows, with_marks
from elmo_bench.bilm.engine.embedder import Embedder
from elmo_bench.bilm.model import BiLM
from elmo_bench.bilm.options import BilmOptions
from elmo_bench.types import Words

SMALL = BilmOptions(4, ((1, 8), (2, 8), (5, 16)), highways=2, layers=2, cell_dim=48, projection_dim=16)


def largest_difference(sentences: Sequence[Words]) -> float:
    """The largest absolute difference between the two over some sentences, for a small random biLM."""
    model = BiLM(SMALL, torch.Generator().manual_seed(0)).eval()
    differences = [0.0]
    for words, fast in zip(sentences, Embedder(model).layers(sentences), strict=True):
        rows = torch.from_numpy(character_rows(with_marks(words), SMALL.maximum_characters))
        with torch.no_grad():
            plain, _ = model(model.token_encoder(rows).unsqueeze(0), torch.tensor([len(rows)]))
        differences.append(float(np.abs(fast - plain[0, :, 1:-1].numpy()).max(initial=0)))
    return max(differences)
