"""Guards a bank: takes out the secrets that may not be kept, and rules on the trust in what may not be believed."""
