"""Parts of the page "Vectors in d dimensions"."""
