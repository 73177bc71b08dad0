"""Charts: the look of all of them, and each kind of picture."""
