"""The bidirectional language model of the paper: options, characters, network, weight files, fast engine."""
