"""Records in one SQLite file: connections, commits, the watch over the file, backup and recovery."""
