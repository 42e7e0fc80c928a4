"""Parts of the page "Release plan"."""
