"""What a redesign must not change: each chapter computes one contract, and a JSON file beside it keeps what it was."""
