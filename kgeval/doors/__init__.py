"""The doors: evaluate, predict, explain, answers and classify, each from a model and a dataset to its result."""
