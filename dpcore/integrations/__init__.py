"""Certified laws in other libraries' clothes."""
