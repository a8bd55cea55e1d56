"""Modules that several heads are built of: products, packing, LSTMs, word and character vectors, CRF."""
