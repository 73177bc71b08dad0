"""The run directory: what it holds, and how it is written whole or not at all."""
