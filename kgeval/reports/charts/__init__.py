"""Charts: one kind of picture a file, each a function of a data frame."""
