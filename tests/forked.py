"""Python processes forked from one that has loaded the program: to load it anew takes most of a short test."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing import current_process, get_all_start_methods, get_context
from pathlib import Path
from types import ModuleType

import reasoningbank

SOURCE = str(Path(reasoningbank.__file__).parents[1])
LOADED = [
    "reasoningbank.cli.main",
    "reasoningbank.cli.commands.serve",
    "reasoningbank.index.embedded",
    "reasoningbank.recall.experience",
    "reasoningbank_server.openapi",
    "reasoningbank_server.start",
    "reasoningbank.serve.mcp.conversation",
    "reasoningbank.serve.mcp.http",
    "tests.forked",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
]


def python(*words: str, cwd: Path | None = None, text: bool = False, **environment: str) -> subprocess.Popen | Forked:
    """`python -m MODULE …` or `python -c CODE …` with three pipes, in this environment and what is given."""
    env = {**os.environ, "PYTHONPATH": SOURCE, **environment}
    if "forkserver" in get_all_start_methods():
        return Forked(words, env, cwd or Path.cwd(), text=text)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([sys.executable, *words], env=env, cwd=cwd, text=text, **pipes)


class Forked:
    """What a test needs of a `Popen`."""

    def __init__(self, words: tuple[str, ...], env: dict[str, str], cwd: Path, *, text: bool) -> None:
        context = get_context("forkserver")
        context.set_forkserver_preload(LOADED)
        pipes = [context.Pipe(duplex=False) for _ in range(3)]
        (stdin, to_stdin), (from_stdout, stdout), (from_stderr, stderr) = pipes
        theirs, ours = (stdin, stdout, stderr), (to_stdin, from_stdout, from_stderr)
        self._process = context.Process(target=_run, args=(words, env, cwd, theirs), daemon=True)
        self._process.start()
        self.pid = self._process.pid
        modes = ("w", "r", "r") if text else ("wb", "rb", "rb")
        self.stdin, self.stdout, self.stderr = (
            os.fdopen(os.dup(end.fileno()), mode) for end, mode in zip(ours, modes, strict=True)
        )
        for end in (*theirs, *ours):
            end.close()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("python", timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()

    def communicate(
        self, input: str | bytes | None = None, timeout: float | None = None
    ) -> tuple[str | bytes, str | bytes]:
        """What it says until it ends."""
        said = {}
        readers = [
            threading.Thread(target=lambda one=one: said.update({one: one.read()}), daemon=True)
            for one in (self.stdout, self.stderr)
            if not one.closed
        ]
        for reader in readers:
            reader.start()
        with suppress(BrokenPipeError):
            if input is not None:
                self.stdin.write(input)
            self.stdin.close()
        self.wait(timeout)
        for reader in readers:
            reader.join(timeout)
        self.stdout.close()
        self.stderr.close()
        return said.get(self.stdout), said.get(self.stderr)


def _run(words: tuple[str, ...], env: dict[str, str], cwd: Path, pipes) -> None:
    current_process().daemon = False  # may have children of its own
    for number, pipe in enumerate(pipes):
        os.dup2(pipe.fileno(), number)
        pipe.close()
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    kind, what, *rest = words
    sys.argv = [kind, *rest]
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), main.__dict__)
