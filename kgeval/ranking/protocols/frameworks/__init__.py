"""The protocols: one file a framework, found because it is there."""
