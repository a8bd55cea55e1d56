"""One run: prepare, fit, evaluate, record."""
