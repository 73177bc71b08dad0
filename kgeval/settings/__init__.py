"""Settings: the models that configurations are checked by, and the messages when they do not fit."""
