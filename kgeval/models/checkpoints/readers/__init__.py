"""The readers of checkpoints, one file a framework."""
