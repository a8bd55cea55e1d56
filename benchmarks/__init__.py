"""Speed and memory, each printing ratios measured side by side in one run."""
