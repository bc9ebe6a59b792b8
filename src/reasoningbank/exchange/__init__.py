"""Other layouts, and our own on paper: read files into drafts, write records out as lines."""
