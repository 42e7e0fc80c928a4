"""Parts of the page "Vector queries"."""
