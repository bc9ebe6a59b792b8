"""The records and the feed: a folder or a file for each backend."""
