"""PyKEEN: saved folders, pickled modules and state dictionaries."""
