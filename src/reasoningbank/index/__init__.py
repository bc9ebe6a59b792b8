"""Where memories are found: views of the feed that can always be built again."""
