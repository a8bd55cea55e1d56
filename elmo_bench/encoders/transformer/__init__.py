"""Hugging Face transformers as encoders; nothing else of elmo_bench imports that package."""
