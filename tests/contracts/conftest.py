"""The foreign package is installed by its own test, not collected."""

collect_ignore = ["foreign"]
