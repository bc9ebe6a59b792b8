"""From what happened to what it is worth: evidence, sessions, credit."""
