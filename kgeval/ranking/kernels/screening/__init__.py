"""Screening: low precision with a proven error bound decides most comparisons, float64 the rest."""
