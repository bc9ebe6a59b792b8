"""`reasoningbank eval …`: the options, the runs and the tables."""
