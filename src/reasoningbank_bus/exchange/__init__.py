"""The bank's side of the bus: what leaves it as entries, what of others becomes records, what it answers."""
