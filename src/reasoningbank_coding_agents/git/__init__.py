"""What became of the commits that sessions made."""
