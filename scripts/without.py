"""An installation without some plugins: what the core is when they are published apart, or not installed.

`make_without(place, "bus", …)` makes a virtual environment beside this one: the same libraries, the core, every plugin
that is not named. `scripts/test.py --without bus` runs the tests of the core in it.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
PREFIX = "reasoningbank_"
PLUGINS = sorted(path.name.removeprefix(PREFIX) for path in SOURCE.glob(f"{PREFIX}*/"))
IN_THE_CORES_NAME = {"bus": "bus.py"}
"""Parts of a plugin that programs import as `reasoningbank.…`."""


def make_without(place: Path, *plugins: str) -> Path:
    """The path of its Python."""
    here = Path(sysconfig.get_path("purelib"))
    site = place / here.relative_to(sys.prefix)
    site.mkdir(parents=True)
    for entry in here.iterdir():
        if not entry.name.startswith(("reasoningbank", "_editable_impl_reasoningbank")) and entry.suffix != ".pth":
            (site / entry.name).symlink_to(entry)
    shutil.copytree(SOURCE / "reasoningbank", site / "reasoningbank", ignore=shutil.ignore_patterns("__pycache__"))
    for plugin in PLUGINS:
        if plugin not in plugins:
            (site / f"{PREFIX}{plugin}").symlink_to(SOURCE / f"{PREFIX}{plugin}")
        elif plugin in IN_THE_CORES_NAME:
            (site / "reasoningbank" / IN_THE_CORES_NAME[plugin]).unlink()
    [metadata] = here.glob("reasoningbank-*.dist-info")
    (site / metadata.name).mkdir()
    shutil.copy(metadata / "METADATA", site / metadata.name)
    lines = (metadata / "entry_points.txt").read_text("utf-8").splitlines()
    gone = tuple(f"{PREFIX}{plugin}" for plugin in plugins)
    kept = [line for line in lines if not line.partition("=")[2].strip().startswith(gone)] if gone else lines
    (site / metadata.name / "entry_points.txt").write_text("\n".join(kept) + "\n", "utf-8")
    python = place / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(os.path.realpath(sys.executable))
    home = Path(os.path.realpath(sys.executable)).parent
    (place / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n", "utf-8")
    return python
