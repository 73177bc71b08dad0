"""The kernel of a GPU: products in half precision, comparison and refinement where the numbers are, through torch."""
