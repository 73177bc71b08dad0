"""The configuration of a run: its keys, its YAML, and all that can be checked before anything is computed."""
