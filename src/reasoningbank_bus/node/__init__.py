"""The node: one peer of the bus as a pure state machine, without sockets, clock and threads."""
