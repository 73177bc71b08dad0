"""Slices: the rows of a rank table divided by what the dataset says of them; each file declares one, or a few."""
