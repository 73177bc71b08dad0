"""The arithmetic of metrics: sums that lose no digit, powers, group means, checked arrays."""
