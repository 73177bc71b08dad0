"""The protocols, each a value that is found because it is there: of evaluators of frameworks, of publications."""
