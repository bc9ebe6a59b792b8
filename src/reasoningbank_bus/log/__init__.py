"""The log of entries: one SQLite file beside the bank, shared by the processes of this machine."""
