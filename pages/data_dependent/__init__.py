"""Parts of the page "Data-dependent noise"."""
