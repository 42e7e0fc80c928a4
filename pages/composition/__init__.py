"""The page "Composition": what several releases reveal together."""
