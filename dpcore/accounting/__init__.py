"""Accounting: what one mechanism, and many of them together, reveal."""
