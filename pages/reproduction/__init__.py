"""Parts of the page "Published figures"."""
