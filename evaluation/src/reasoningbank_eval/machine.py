"""On what a figure was measured: the machine and the versions, so that two reports can be compared."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from pathlib import Path

PACKAGES = ("reasoningbank", "apsw", "numpy", "onnxruntime", "simsimd")


def machine() -> dict[str, object]:
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count() or 0,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        lines = ""
    named = re.search(r"^model name\s*:\s*(.+)$", lines, re.MULTILINE)
    return named[1].strip() if named else platform.processor() or "unknown"
