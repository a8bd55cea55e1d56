"""Inference: sentences to the layers of a frozen biLM, fast."""
