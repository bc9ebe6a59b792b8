"""The records and the feed: one file per backend."""
