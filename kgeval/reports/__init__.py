"""Reports: what runs say, as one page, as pictures and as tables for papers."""
