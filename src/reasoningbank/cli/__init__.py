"""The command line. `main` is the door; one small module for each subject is loaded when it is asked for."""
