"""The page to look at a bank with: its files, and who may open it."""
