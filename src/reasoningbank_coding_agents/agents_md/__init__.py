"""The user's rules and the best memories in files that agents read anyway: AGENTS.md, CLAUDE.md, a skill."""
