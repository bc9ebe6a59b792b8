"""Models that answer: any OpenAI-compatible endpoint, Anthropic, and one that reads its answers from a script."""
