"""Lexical matching: terms, forms, rare words, and the weight of each."""
