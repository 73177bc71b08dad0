"""The evaluation protocols, as data: one file each."""
