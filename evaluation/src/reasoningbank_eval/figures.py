"""Numbers about numbers: shares with intervals, calibration, and the machine they were measured on."""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

Z_95 = 1.959964
BINS = 10
_PACKAGES = ("reasoningbank", "numpy", "onnxruntime", "apsw", "simsimd")


def share_with_interval(hits: int, of: int) -> dict[str, float]:
    """Wilson's 95 % interval."""
    if not of:
        return {"share": 0.0, "low": 0.0, "high": 1.0}
    share = hits / of
    centre = (share + Z_95**2 / (2 * of)) / (1 + Z_95**2 / of)
    half = Z_95 * math.sqrt(share * (1 - share) / of + Z_95**2 / (4 * of**2)) / (1 + Z_95**2 / of)
    return {
        "share": round(share, 4),
        "low": round(max(0.0, centre - half), 4),
        "high": round(min(1.0, centre + half), 4),
    }


def spread(values: Sequence[float], digits: int = 4) -> dict[str, float]:
    """The mean with the least and the greatest."""
    return {
        "mean": round(math.fsum(values) / len(values), digits),
        "least": round(min(values), digits),
        "most": round(max(values), digits),
    }


def calibration_error(pairs: Sequence[tuple[float, bool]]) -> float:
    """Expected calibration error: how far what was told lies from what came, in ten bins, weighed by their size."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, came in pairs:
        bins.setdefault(min(BINS - 1, int(confidence * BINS)), []).append((confidence, came))
    gaps = (abs(math.fsum(c for c, _ in entries) - sum(came for _, came in entries)) for entries in bins.values())
    return math.fsum(gaps) / len(pairs) if pairs else 0.0


def machine() -> dict[str, Any]:
    return {
        "python": sys.version.split()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
