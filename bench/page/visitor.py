"""Somebody who looks at the page with the browser's own clocks running: what was painted when, what is kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROBE = Path(__file__).with_name("probe.js")
WAIT_MS = 60_000
QUIET_MS = 350
"""Longer than the page waits for another key."""


class Visitor:
    """Enters by the one-time link; whatever goes wrong in any tab is kept."""

    def __init__(self, browser: Any, link: str) -> None:
        self.address = link.partition("/ui/")[0]
        self.wrong: list[str] = []
        self.elsewhere: list[str] = []
        self._browser = browser
        context = browser.new_context()
        page = context.new_page()
        page.goto(link)
        page.wait_for_selector("aside.side")
        self._kept = context.storage_state()
        context.close()

    @contextmanager
    def tab(self) -> Iterator[Tab]:
        """With an empty cache."""
        context = self._browser.new_context(storage_state=self._kept, viewport={"width": 1280, "height": 860})
        context.set_default_timeout(WAIT_MS)
        context.add_init_script(path=PROBE)
        page = context.new_page()
        page.on("console", lambda said: said.type in ("error", "warning") and self.wrong.append(said.text))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda request: self._note(request.url))
        try:
            yield Tab(page, context.new_cdp_session(page), self.address)
        finally:
            context.close()

    def _note(self, url: str) -> None:
        if not url.startswith((self.address, "data:", "blob:")):
            self.elsewhere.append(url)


class Tab:
    def __init__(self, page: Any, devtools: Any, address: str) -> None:
        self.page = page
        self._address = address
        self._devtools = devtools
        self._paths: dict[str, str] = {}
        self._bytes = {"files": 0, "data": 0}
        devtools.on(
            "Network.responseReceived", lambda told: self._paths.update({told["requestId"]: told["response"]["url"]})
        )
        devtools.on("Network.loadingFinished", self._count)
        for domain in ("Network", "Performance", "HeapProfiler"):
            devtools.send(f"{domain}.enable")

    def _count(self, told: Any) -> None:
        path = self._paths.get(told["requestId"], "")
        self._bytes["data" if "/v1/" in path else "files"] += told["encodedDataLength"]

    def open(self, path: str) -> None:
        """Waits by locators: a selector gives a handle, which keeps the page that was left in memory."""
        self.page.goto(f"{self._address}/ui/{path}")
        self.page.locator("main h1").first.wait_for()
        self.page.locator("main .waiting").first.wait_for(state="detached")

    def go(self, path: str) -> None:
        """Within the page, as a click on a link does; the first time opens it."""
        if not self.page.url.startswith(self._address):
            return self.open(path)
        to = f"/ui/{path}"
        self.evaluate(f"void (history.pushState(null, '', {to!r}), dispatchEvent(new PopStateEvent('popstate')))")
        self.page.locator("main h1").first.wait_for()
        return None

    def settle(self) -> None:
        """Until nothing is asked any more and the answer is on the screen."""
        self.page.wait_for_timeout(QUIET_MS)
        self.wait_until("seen.inFlight === 0")
        self.page.wait_for_timeout(50)

    def wait_until(self, holds: str) -> None:
        """Asked from outside: the page's policy lets nothing be evaluated inside."""
        ends = time.monotonic() + WAIT_MS / 1e3
        while not self.evaluate(holds):
            if time.monotonic() > ends:
                raise TimeoutError(f"For {WAIT_MS / 1e3:.0f} s it was not so: {holds}")
            self.page.wait_for_timeout(10)

    def evaluate(self, script: str) -> Any:
        return self.page.evaluate(script)

    def answers(self) -> list[float]:
        """Milliseconds from each key or click to its answer, since they were last asked for."""
        return self.evaluate("seen.answers.splice(0)")

    def interactions(self) -> list[float]:
        """As the browser times events; what was shorter than a frame it does not tell."""
        return self.evaluate("[...seen.interactions.values()]")

    def transferred(self) -> tuple[int, int]:
        """Bytes of files and of data, compressed as they came, with their header fields."""
        return self._bytes["files"], self._bytes["data"]

    def heap_and_nodes(self) -> tuple[float, float]:
        self._devtools.send("HeapProfiler.collectGarbage")
        metrics = {one["name"]: one["value"] for one in self._devtools.send("Performance.getMetrics")["metrics"]}
        return metrics["JSHeapUsedSize"], metrics["Nodes"]
