"""Atomic writing of files and folders, and tables in Parquet files."""
