"""The context-independent token vector: character convolutions, highways, projection (SPEC 1.3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from elmo_bench.bilm.characters import MISSING_ROW_ID, PADDING_ROW_ID
from elmo_bench.bilm.options import CHARACTERS_WITH_MISSING, BilmOptions


class Highway(nn.Module):
    """Let a gate choose between a ReLU transform and the input itself."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)  # the weight files call it carry, though it opens the transform

    def forward(self, inputs: Tensor) -> Tensor:
        gate = torch.sigmoid(self.gate(inputs))
        return torch.lerp(inputs, F.relu(self.transform(inputs)), gate)


class TokenEncoder(nn.Module):
    """Turn rows of character ids into token vectors; a row of zeros is a missing token."""

    def __init__(self, options: BilmOptions) -> None:
        super().__init__()
        self.characters = nn.Embedding(
            CHARACTERS_WITH_MISSING, options.character_dim, padding_idx=MISSING_ROW_ID
        )
        self.convolutions = nn.ModuleList(
            nn.Conv1d(options.character_dim, count, width) for width, count in options.filters
        )
        self.widest = max(width for width, _ in options.filters)
        self.highways = nn.ModuleList(Highway(options.filter_count) for _ in range(options.highways))
        self.projection: nn.Module = (
            nn.Linear(options.filter_count, options.projection_dim)
            if options.has_token_projection
            else nn.Identity()
        )

    def forward(self, rows: Tensor) -> Tensor:
        """Character ids (tokens, characters) to vectors (tokens, projection_dim)."""
        embedded = self.characters(self.trim(rows)).transpose(1, 2)  # (tokens, character_dim, characters)
        pooled = [F.relu(convolution(embedded).amax(dim=2)) for convolution in self.convolutions]
        features = torch.cat(pooled, dim=1)  # (tokens, filter_count)
        for highway in self.highways:
            features = highway(features)
        projected: Tensor = self.projection(features)  # (tokens, projection_dim)
        return projected

    def trim(self, rows: Tensor) -> Tensor:
        """Drop places that no maximum can notice: padding beyond one whole window of it."""
        is_used = ((rows != PADDING_ROW_ID) & (rows != MISSING_ROW_ID)).any(dim=0)  # (characters,)
        if bool((rows == MISSING_ROW_ID).any()) or not bool(is_used.any()):
            return rows  # a missing token is fifty zeros, not padding
        longest = int(is_used.nonzero()[-1]) + 1
        return rows[:, : longest + self.widest]
