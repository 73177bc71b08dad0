"""kgeval: how well a knowledge-graph embedding model predicts missing links, and how far the number may be trusted."""
