"""The run directory: its files, and how it is written atomically."""
