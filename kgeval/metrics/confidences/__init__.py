"""Metrics of predicted confidences: errors, and ranks weighted by confidence."""
