"""python -m elmo_bench COMMAND: everything but training."""
