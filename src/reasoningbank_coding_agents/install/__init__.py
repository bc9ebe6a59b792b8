"""Other programs' settings: what we put into them, and how it gets in and out without touching the rest."""
