"""The bank over HTTP: a table of endpoints, and what every request must pass before it reaches one."""
