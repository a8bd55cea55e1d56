"""The ablations as a workspace and a report of Weights & Biases."""
