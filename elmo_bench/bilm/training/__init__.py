"""How a biLM is trained: text, batches, objective, module, perplexity."""
