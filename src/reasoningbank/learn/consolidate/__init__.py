"""Upkeep: merge what says the same, link what belongs together, archive what proved wrong, promote what proved right.

    pool → pairs → merging, conflicts, links, pruning, promoting → plan → applying → a record that `undoing` can read

A plan is a value and changes nothing. Applying it goes in small units, each of which is whole by itself.
"""
