"""A fresh virtual environment with this checkout in it, as a user would have it: compiled, and without our tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from bench.banks import cache

CHECKOUT = Path(__file__).resolve().parent.parent


def environment() -> dict[str, str]:
    """Ours, without what would make a start slower than a user's or point at a bank of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REASONINGBANK_")}
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED"):
        kept.pop(name, None)
    return kept


def fresh_venv(extra: str | None = None) -> Path:
    """Installed anew each time: a stale one would measure yesterday's code."""
    folder = cache() / ("installed" if extra is None else f"installed-{extra}")
    wanted = str(CHECKOUT) if extra is None else f"{CHECKOUT}[{extra}]"
    shutil.rmtree(folder, ignore_errors=True)
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if base.exists():
        _run([str(base), "-m", "venv", str(folder)])
    else:
        venv.create(folder, with_pip=True)
    _run([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", wanted])
    _run([str(folder / "bin" / "python"), "-m", "compileall", "-q", str(site_packages(folder))], check=False)
    return folder


def site_packages(folder: Path) -> Path:
    return next((folder / "lib").glob("python*/site-packages"))


def _run(command: list[str], *, check: bool = True) -> None:
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
