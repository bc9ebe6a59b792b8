"""Who may do what: keys in files, signed grants that are derived from one another, revocations, and what is spent."""
