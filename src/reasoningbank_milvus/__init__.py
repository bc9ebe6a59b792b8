"""Milvus as the index of a bank: one collection for each build, with the words and the vectors of every memory."""
