"""Parts of the page "Private optimisation"."""
