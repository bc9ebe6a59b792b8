"""Network namespaces for a bench: one for each peer, joined by a bridge, with random loss; all of it taken away again.

Needs root (or the right to make namespaces) and `ip`. Loss is made with `iptables` if that is there, otherwise with a
filter of four instructions for `tc`, which drops by the kernel's random numbers: `tc netem` is not in every kernel.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import Self

_RANDOM_WORD = 0xFFFFF000 + 56
"""Where the kernel's packet filter finds a random word (SKF_AD_OFF + SKF_AD_RANDOM)."""
_COMMAND_SECONDS = 30.0


class NotPermitted(Exception):
    """Namespaces cannot be made here; the message says why."""


class Network:
    """`with Network(8, loss=0.3) as network:` eight machines that reach each other."""

    def __init__(self, machines: int, *, loss: float) -> None:
        self.machines = machines
        self._loss = loss
        self._mark = f"rbb{os.getpid()}"
        self._made: list[str] = []
        self.loss_by = ""

    def __enter__(self) -> Self:
        if shutil.which("ip") is None:
            raise NotPermitted("there is no `ip` command (iproute2)")
        try:
            self._build()
        except subprocess.CalledProcessError as error:
            self._remove()
            said = (error.stderr or "").strip() or f"exit code {error.returncode}"
            raise NotPermitted(f"`{' '.join(error.cmd)[:60]}`: {said}") from None
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def address(self, machine: int) -> str:
        return f"10.219.0.{machine + 1}"

    def inside(self, machine: int, command: Sequence[str]) -> list[str]:
        """The command that runs a command on a machine."""
        return ["ip", "netns", "exec", self._name(machine), *command]

    def part(self, machines: Sequence[int]) -> None:
        """Take these machines off the bridge, to another one."""
        for machine in machines:
            self._hub("link", "set", f"v{machine}", "master", "apart")

    def join(self) -> None:
        for machine in range(self.machines):
            self._hub("link", "set", f"v{machine}", "master", "bridge")

    def _build(self) -> None:
        self._add(self._mark)
        for bridge in ("bridge", "apart"):
            self._hub("link", "add", bridge, "type", "bridge")
            self._hub("link", "set", bridge, "up")
        for machine in range(self.machines):
            name = self._name(machine)
            self._add(name)
            _run(
                "ip",
                "link",
                "add",
                "eth0",
                "netns",
                name,
                "type",
                "veth",
                "peer",
                "name",
                f"v{machine}",
                "netns",
                self._mark,
            )
            _run("ip", "-n", name, "address", "add", f"{self.address(machine)}/24", "dev", "eth0")
            _run("ip", "-n", name, "link", "set", "lo", "up")
            _run("ip", "-n", name, "link", "set", "eth0", "up")
            self._hub("link", "set", f"v{machine}", "master", "bridge")
            self._hub("link", "set", f"v{machine}", "up")
            self._lose(machine)

    def _lose(self, machine: int) -> None:
        if shutil.which("iptables") is not None:
            rule = ["-A", "INPUT", "-i", "eth0", "-p", "udp", "-m", "statistic", "--mode", "random"]
            _run(*self.inside(machine, ["iptables", *rule, "--probability", str(self._loss), "-j", "DROP"]))
            self.loss_by = "iptables"
            return
        # Load a random word; if it is at least so great go on to the next, otherwise to the one behind: pass, drop.
        least = int(self._loss * 2**32)
        program = f"4,32 0 0 {_RANDOM_WORD},53 0 1 {least},6 0 0 0,6 0 0 2"
        _run(*self.inside(machine, ["tc", "qdisc", "add", "dev", "eth0", "clsact"]))
        where = ["filter", "add", "dev", "eth0", "ingress", "protocol", "ip"]
        _run(*self.inside(machine, ["tc", *where, "bpf", "da", "bytecode", program]))
        self.loss_by = "a packet filter of tc"

    def _add(self, name: str) -> None:
        _run("ip", "netns", "add", name)
        self._made.append(name)

    def _remove(self) -> None:
        while self._made:
            subprocess.run(["ip", "netns", "delete", self._made.pop()], check=False, timeout=_COMMAND_SECONDS)

    def _hub(self, *command: str) -> None:
        _run("ip", "-n", self._mark, *command)

    def _name(self, machine: int) -> str:
        return f"{self._mark}-{machine}"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=_COMMAND_SECONDS)
