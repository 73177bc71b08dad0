"""PyTorch-BigGraph checkpoints."""
