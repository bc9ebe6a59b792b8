"""stub"""
from __future__ import annotations
from reasoningbank.core.values import dataclass
@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    score: float
    sentences: tuple[str, ...]
    is_suspicious: bool
def suspicion(text: str) -> Advice:
    return Advice(score=0.0, sentences=(), is_suspicious=False)
