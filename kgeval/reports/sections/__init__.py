"""The sections of the page, from the top: standings, trust, origins, triples, making."""
