"""The scorers: how plausible a model finds each candidate. Higher means more plausible, always."""
