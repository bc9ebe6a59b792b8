"""Claude Code and Codex themselves, from the npm registry, against a scripted model on loopback."""
