"""A team's engines measured: PostgreSQL beside a bare psycopg and beside a file. `suite` lists the parts."""
