"""A simulated world whose truth is known, and how well agents with different memories do in it."""
