"""AmpliGraph 2: the folder that it saves, with TensorFlow's table of tensors."""
