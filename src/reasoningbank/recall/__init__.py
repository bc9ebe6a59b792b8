"""From a query to hits, and from hits to text for a prompt."""
