"""What may not be kept, and what may not be believed: secrets and trust."""
