"""The readers of graphs, one file a layout."""
