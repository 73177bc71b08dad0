"""One member of each of kgeval's registries, a module each; pyproject.toml declares them as entry points."""
