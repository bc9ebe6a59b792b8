"""Banks in PostgreSQL: an engine of rows over psycopg, for a team whose servers share one bank."""
