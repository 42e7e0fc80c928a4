"""Parts of the page "Private learning"."""
