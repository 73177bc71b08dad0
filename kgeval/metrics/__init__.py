"""The metrics: pure functions of the kept ranks. Each file declares a family; a new metric is a new declaration."""
