"""The bank: what `reasoningbank.open` gives, and what it is made of."""
