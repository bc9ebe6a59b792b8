"""Set reconciliation: which entries two peers hold differently, found by fingerprints of ranges; pure."""
