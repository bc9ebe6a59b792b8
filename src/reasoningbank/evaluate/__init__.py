"""Measuring the bank on data that nobody here wrote. Uses only what a user of the bank can use."""
