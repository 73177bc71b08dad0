"""The evaluation protocols of the frameworks, as data; what they print, and why two of them differ."""
