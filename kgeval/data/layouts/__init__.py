"""The layouts of datasets in files: one file each, which reads it."""
