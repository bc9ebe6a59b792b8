"""Fetch the page's libraries from the npm registry: python scripts/vendor_ui.py [--check | --axe].

Each package is pinned to a version and to the hash of its archive; of each only the files that the page loads are kept,
beside its licence, in `reasoningbank_server/ui/static/vendor`. What is no ES module yet becomes one by a line before
and a line behind it; nothing else is changed. `--check` compares what is kept with what the archives give and changes
nothing. `--axe` fetches what the tests ask about accessibility, into `build`, which is not kept.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "src" / "reasoningbank_server" / "ui" / "static" / "vendor"
COMMON_JS = ("const module={exports:{}},exports=module.exports;\n", "\nexport default module.exports;\n")
GLOBAL = ("", "\nexport default uPlot;\n")
AS_IT_IS = ("", "")


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    sha512: str
    files: dict[str, tuple[str, tuple[str, str]]]
    """From the path in the archive to the name here, and what goes around it."""
    licence: str = "LICENSE"


PACKAGES = (
    Package(
        "preact",
        "11.2.0",
        "/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg==",
        {"dist/preact.mjs": ("preact.js", AS_IT_IS), "hooks/dist/hooks.mjs": ("hooks.js", AS_IT_IS)},
    ),
    Package(
        "htm",
        "3.1.1",
        "983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
        {"dist/htm.module.js": ("htm.js", AS_IT_IS)},
    ),
    Package(
        "uplot",
        "1.6.32",
        "KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        {"dist/uPlot.iife.min.js": ("uplot.js", GLOBAL), "dist/uPlot.min.css": ("uplot.css", AS_IT_IS)},
    ),
    Package(
        "graphology-layout-forceatlas2",
        "0.10.1",
        "ogzBeF1FvWzjkikrIFwxhlZXvD2+wlY54lqhsrWprcdPjopM2J9HoMweUmIgwaTvY4bUYVimpSsOdvDv1gPRFQ==",
        {"iterate.js": ("forceatlas2.js", COMMON_JS)},
        "LICENSE.txt",
    ),
)
AXE = Package(
    "axe-core",
    "4.14.0",
    "9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSxHfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ==",
    {"axe.min.js": ("axe.min.js", AS_IT_IS)},
)
BARE_IMPORT = ('from"preact"', 'from"./preact.js"')
"""A browser knows no packages, only addresses."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; end with 1 where something differs")
    parser.add_argument("--axe", action="store_true", help="fetch axe for the tests instead")
    asked = parser.parse_args()
    if asked.axe:
        return _fetch_axe()
    check = asked.check
    wanted = {name: text for package in PACKAGES for name, text in _contents(package).items()}
    there = {path.name: path.read_text("utf-8") for path in PLACE.iterdir()} if PLACE.is_dir() else {}
    differing = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
    for name in differing:
        print(f"differs: {name}")
        if not check and name in wanted:
            PLACE.mkdir(parents=True, exist_ok=True)
            (PLACE / name).write_text(wanted[name], "utf-8", newline="\n")
        elif not check:
            (PLACE / name).unlink()
    print(f"{len(wanted)} files of {len(PACKAGES)} packages, {len(differing)} {'differ' if check else 'written'}")
    return 1 if check and differing else 0


def _fetch_axe() -> int:
    place = ROOT / "build" / "axe.min.js"
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        place.write_text(_contents(AXE)["axe.min.js"], "utf-8", newline="\n")
    return 0


def _contents(package: Package) -> dict[str, str]:
    """The files that are kept of a package, by their names here."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = f"{package.name}@{package.version}"
        subprocess.run(["npm", "pack", "--silent", wanted], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        [archive] = Path(folder).glob("*.tgz")
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != package.sha512:
            sys.exit(f"{wanted} is not what it was: its archive has the hash {found}.")
        with tarfile.open(archive) as packed:
            made = {
                name: before + _text(packed, path).replace(*BARE_IMPORT) + behind
                for path, (name, (before, behind)) in package.files.items()
            }
            return {**made, f"{package.name}.LICENSE.txt": _text(packed, package.licence)}


def _text(packed: tarfile.TarFile, path: str) -> str:
    member = packed.extractfile(f"package/{path}")
    assert member is not None
    text = member.read().decode("utf-8")
    # Maps are not kept, and a browser would ask for them.
    return "\n".join(line for line in text.split("\n") if not line.startswith("//# sourceMappingURL="))


if __name__ == "__main__":
    raise SystemExit(main())
