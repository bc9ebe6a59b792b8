"""Embedders: what turns a text into a vector. One file per backend, imported only when chosen."""
