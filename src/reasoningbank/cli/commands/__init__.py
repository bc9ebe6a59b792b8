"""The commands, a module a subject. `cli.table` says which module holds which command."""
