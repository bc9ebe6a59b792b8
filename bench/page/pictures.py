"""Pictures of every page in light and dark: python -m bench page pictures [--to FOLDER] [--only NAME …]."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.page.browser import chromium, missing, served_page
from bench.page.example_bank import make_example_bank
from bench.page.example_bus import served_on_the_bus
from reasoningbank_bus.extra import is_installed

NAMESPACE = "shop"
WIDTHS = {"": 1280, "-phone": 390}
SCHEMES = ("light", "dark")
SETTLED_MS = 900
DRAWN_MS = 4500
PAGES = {
    "overview": "",
    "search": "search?q=a payment timed out, send it again?",
    "profiles": "search?q=a payment timed out&beside=semantic",
    "memories": "search",
    "memory": "memory/retry-budget",
    "held-back": "memory/{held}",
    "sessions": "sessions",
    "session": "session/{session}",
    "graph": "graph",
    "walk": "graph?q=why did the cost per lead rise in July?",
    "trust": "trust",
    "queue": "queue",
}
APART = {"empty": "", "enter": "", "peers": "peers"}
"""Of other banks than the one with something on every page."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench page pictures", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--to", type=Path, default=Path("page-pictures"), help="folder (page-pictures)")
    parser.add_argument("--only", nargs="+", choices=[*PAGES, *APART], help="these pages")
    asked = parser.parse_args(arguments)
    if why := missing():
        print(f"No pictures: {why}")
        return 1
    asked.to.mkdir(parents=True, exist_ok=True)
    wanted = asked.only or [*PAGES, *APART]
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        full, empty = Path(folder) / "bank.db", Path(folder) / "empty.db"
        make_example_bank(full)
        for link, names in ((full, [name for name in PAGES if name in wanted]), (empty, [])):
            with served_page(link, NAMESPACE) as opened:
                _take(browser, opened, names or [name for name in ("empty",) if name in wanted], asked.to)
        if "enter" in wanted:
            with served_page(full, NAMESPACE, "serve", "--require-token") as address:
                _take(browser, f"{address}/ui/", ["enter"], asked.to)
        if "peers" in wanted and is_installed():
            with served_on_the_bus(Path(folder)) as address:
                _take(browser, f"{address}/ui/peers", ["peers"], asked.to)
    print(f"pictures in {asked.to}")
    return 0


def _take(browser: Any, link: str, names: Sequence[str], to: Path) -> None:
    if not names:
        return
    address, entering = link.partition("/ui/")[0], browser.new_context()
    first = entering.new_page()
    first.goto(link)
    first.wait_for_selector("main h1")
    kept = entering.storage_state()
    known = {} if set(names) & set(APART) else _known(entering, address)
    for scheme in SCHEMES:
        for suffix, width in WIDTHS.items():
            context = browser.new_context(
                storage_state=kept,
                color_scheme=scheme,
                viewport={"width": width, "height": 860},
                reduced_motion="reduce",
            )
            page = context.new_page()
            for name in names:
                path = {**PAGES, **APART}[name].format(**known)
                page.goto(f"{address}/ui/{path}")
                page.wait_for_selector("main h1")
                page.wait_for_timeout(DRAWN_MS if name in ("graph", "walk", "peers") else SETTLED_MS)
                page.screenshot(path=to / f"{name}-{scheme}{suffix}.png", full_page=True)
            context.close()
    entering.close()


def _known(context: Any, address: str) -> dict[str, str]:
    sessions = context.request.get(f"{address}/v1/sessions?limit=30").json()["sessions"]
    held = context.request.get(f"{address}/v1/memories?state=quarantined").json()["memories"]
    return {
        "session": next(one["id"] for one in sessions if one["task"].startswith("Fix the test")),
        "held": held[0]["id"],
    }
