"""The native format: a .safetensors or .npz file of named arrays."""
