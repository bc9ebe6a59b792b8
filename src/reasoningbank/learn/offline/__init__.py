"""Lessons without a model: what a trace shows by its shape alone."""

from __future__ import annotations

from reasoningbank.learn.offline.distiller import OfflineDistiller

__all__ = ["OfflineDistiller"]
