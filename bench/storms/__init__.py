"""Every promise attacked. Each module here is one storm: a function `storm(weather)` that returns the promises it held.

A module whose name begins with an underscore is a tool of the others.
"""
