"""An index in the bank's own PostgreSQL: vectors with pgvector, words as postings in tables of ours."""
