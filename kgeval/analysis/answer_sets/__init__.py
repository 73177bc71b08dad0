"""Answer sets: for each query entities among which the answer is with a chosen probability, by conformal prediction."""
