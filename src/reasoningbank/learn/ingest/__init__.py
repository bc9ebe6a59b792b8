"""Transcripts of other programs, read as episodes. One file a format; `sniff` tells which it is."""
