"""The protocols of frameworks and publications: ``protocol.protocols()`` finds every ``Protocol`` in these files."""
