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
    by_package = {}
    for name in PACKAGES:
        try:
            by_package[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            by_package[name] = "not installed"
    return by_package


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        lines = ""
    match = re.search(r"^model name\s*:\s*(.+)$", lines, re.MULTILINE)
    return match[1].strip() if match else platform.processor() or "unknown"
