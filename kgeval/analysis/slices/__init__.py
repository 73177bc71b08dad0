"""Slices: the rows of a rank table in groups, by a property in the dataset. Each file declares one slice or several."""
