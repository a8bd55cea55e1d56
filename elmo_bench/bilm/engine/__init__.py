"""Fast inference: from sentences to the layers of a frozen biLM."""
