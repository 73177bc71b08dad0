"""Safe reading of pickles, of models and graphs: nothing in them is executed."""
