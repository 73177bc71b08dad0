"""The kernel of a GPU, through torch: it screens in half precision, and compares and refines scores on the GPU too."""
