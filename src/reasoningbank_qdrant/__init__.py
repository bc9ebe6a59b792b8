"""Qdrant as an index: a collection for each build, with a dense and a sparse vector for each memory."""
