"""The embedded index: a view of the feed that can always be built again."""
