"""Try the MCP server with clients that nobody here wrote: the MCP Inspector and the MCP conformance suite.

    python3 scripts/mcp_clients.py [--cache DIR] [--install]

Installs both from npm, by name, into a cache folder together with the Node that they need, then runs them against this
checkout: the Inspector over stdio, the conformance suite over HTTP. Run it with a Python that has reasoningbank[mcp].
Exit codes: 0 all is well, 1 something failed, 77 nothing could be tried (no npm, or no registry).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SKIPPED = 77
AT_ONCE = 3
EACH_WITHIN_S = 600.0
START_WITHIN_S = 600.0
PACKAGES = ("node@22", "@modelcontextprotocol/inspector@2.12.0", "@modelcontextprotocol/conformance@0.2.0-alpha.12")
SCENARIOS = (
    "server-initialize",
    "server-session-lifecycle",
    "server-stateless",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
    "caching",
    "http-header-validation",
    "sep-2164-resource-not-found",
    "server-sse-multiple-streams",
    "input-required-result-unsupported-methods",
)
"""Those that need no tool of the suite's own making, such as one that returns an image."""
NEED_A_TEST_TOOL = {
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
}
"""Checks inside of those scenarios that call such a tool; the suite calls them a failure and says "Not testable"."""
_SERVER = """
import sys
import uvicorn
from reasoningbank import ReasoningBank
from reasoningbank.serve.mcp.caller import LOCAL
from reasoningbank.serve.mcp.http import mcp_asgi_app

with ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n") as bank:
    uvicorn.run(mcp_asgi_app(lambda _: bank, lambda _: LOCAL), port=int(sys.argv[2]), log_level="warning")
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "reasoningbank-mcp-clients")
    parser.add_argument("--install", action="store_true", help="only install them")
    options = parser.parse_args()
    folder = options.cache
    if not _installed(folder):
        print("SKIPPED: npm or its registry is not to be had, so no foreign client was tried.", file=sys.stderr)
        return SKIPPED
    if options.install:
        return 0
    with tempfile.TemporaryDirectory(prefix="reasoningbank-mcp-") as place:
        failures = [*_inspector(folder, Path(place)), *_conformance(folder, Path(place))]
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if failures else 0


def _installed(folder: Path) -> bool:
    mark = folder / "installed.txt"
    wanted = "\n".join(PACKAGES)
    if mark.exists() and mark.read_text("utf-8") == wanted:
        return True
    npm = shutil.which("npm")
    if npm is None:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *PACKAGES]
    if subprocess.run(command, check=False).returncode:
        return False
    mark.write_text(wanted, "utf-8")
    return True


def _run(folder: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    binaries = folder / "node_modules" / ".bin"
    environment = {
        **os.environ,
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "MCP_INSPECTOR_SECRET_STORE": "memory",
    }
    command = [str(binaries / "node"), str(binaries / program), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=EACH_WITHIN_S, check=False)


# ---------------------------------------------------------------- the Inspector, over stdio


def _inspector(folder: Path, place: Path) -> list[str]:
    config = place / "servers.json"
    server = {
        "command": sys.executable,
        "args": ["-m", "reasoningbank", "--bank", str(place / "inspected.db"), "serve", "--mcp"],
        "env": {"REASONINGBANK_EMBEDDER": "hash"},
    }
    config.write_text(json.dumps({"mcpServers": {"reasoningbank": server}}), "utf-8")
    failures = []

    def ask(expected: str, *words: str) -> None:
        done = _run(folder, "mcp-inspector", "--cli", "--config", str(config), "--server", "reasoningbank", *words)
        good = expected in done.stdout
        print(f"{'ok    ' if good else 'FAILED'} inspector {' '.join(words)}")
        if not good:
            failures.append(f"inspector {' '.join(words)}: {done.stdout[-500:]}{done.stderr[-500:]}")

    lesson = ("title=Wrap errors", "description=In Go", "content=Use fmt.Errorf with %w", "outcome=success")
    ask('"memory_search"', "--method", "tools/list")
    ask("initial_confidence", *_tool("memory_record", *lesson))
    ask("Wrap errors", *_tool("memory_search", "query=wrap errors", "limit=3"))
    ask("outcome must be one of", *_tool("memory_record", *lesson[:3], "outcome=maybe"))
    ask('"memory://recent"', "--method", "resources/list")
    ask("Wrap errors", "--method", "resources/read", "--uri", "memory://recent")
    ask("memory://{id}", "--method", "resources/templates/list")
    ask('"reflect"', "--method", "prompts/list")
    ask("Wrap errors", "--method", "prompts/get", "--prompt-name", "recall", "--prompt-args", "task=wrap errors in Go")
    return failures


def _tool(name: str, *arguments: str) -> list[str]:
    pairs = [word for argument in arguments for word in ("--tool-arg", argument)]
    return ["--method", "tools/call", "--tool-name", name, *pairs]


# ---------------------------------------------------------------- the conformance suite, over HTTP


def _conformance(folder: Path, place: Path) -> list[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", _SERVER, str(place / "conformed.db"), str(port)])
    try:
        _wait_for(port)
        url = f"http://127.0.0.1:{port}/mcp"
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = pool.map(lambda scenario: _scenario(folder, place, url, scenario), SCENARIOS)
            return [failure for failures in found for failure in failures]
    finally:
        server.terminate()
        server.wait(START_WITHIN_S)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + START_WITHIN_S
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the server did not start")


def _scenario(folder: Path, place: Path, url: str, scenario: str) -> list[str]:
    results = place / scenario
    done = _run(folder, "conformance", "server", "--url", url, "--scenario", scenario, "--output-dir", str(results))
    checks = [check for path in results.rglob("checks.json") for check in json.loads(path.read_text("utf-8"))]
    failed = [check for check in checks if check["status"] == "FAILURE" and not _is_for_want_of_a_tool(check)]
    passed = sum(check["status"] == "SUCCESS" for check in checks)
    failures = [f"conformance {scenario}: {check['id']}: {check.get('errorMessage', '')}" for check in failed]
    if not passed:
        failures.append(f"conformance {scenario}: no check passed: {done.stdout[-500:]}{done.stderr[-500:]}")
    print(f"{'FAILED' if failures else 'ok    '} conformance {scenario}: {passed} of {len(checks)} checks passed")
    return failures


def _is_for_want_of_a_tool(check: dict[str, str]) -> bool:
    return check["id"] in NEED_A_TEST_TOOL and check.get("errorMessage", "").startswith("Not testable")


if __name__ == "__main__":
    raise SystemExit(main())
