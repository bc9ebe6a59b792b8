"""Adapters for frameworks that others wrote: each a leaf that nothing else imports, with its framework as an extra."""
