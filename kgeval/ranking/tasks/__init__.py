"""Tasks on labelled triples: classification, and the prediction of confidences."""
