"""Wire format: signed entries, frames, and the reasons for which one is refused. Pure, no I/O."""
