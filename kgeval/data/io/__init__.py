"""The files of triples: text, headers, columns, numbered labels, binary ids."""
