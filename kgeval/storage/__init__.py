"""Writing files whole or not at all, and tables of columns as Parquet."""
