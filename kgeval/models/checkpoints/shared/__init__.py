"""What several readers need: tensors, their shapes, the places of files, labels, layers."""
