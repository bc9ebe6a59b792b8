"""What the project promises, measured: `python -m bench`. A miss is a fact to print, not a crash."""
