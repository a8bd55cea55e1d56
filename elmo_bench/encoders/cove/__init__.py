"""CoVe (McCann et al. 2017). `plugin` has the settings; it imports `lstm`, and PyTorch, to read weights."""

from elmo_bench.encoders.cove.plugin import Cove

__all__ = ["Cove"]
