"""Those for whom the checks must be green: `scripts/test.py --strangers` tries them one after the other.

Each has a home of its own with nothing in it, a clone of what is committed here, and does there what the README says.
"""

from __future__ import annotations

import os
import pwd
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FETCHING = ("PIP_", "NPM_CONFIG_", "SSL_CERT_", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""How the variables begin without which nothing can be had from a registry; those of proxies end as `_PROXY` does."""
OFTEN_MISSING = frozenset(
    ["bash", "npm", "npx", "node", "nodejs", "chromium", "chromium-browser", "google-chrome", "apt-get"]
)
SMALL_DISK = "1g"
NEW_ENOUGH = "raise SystemExit(sys.version_info < (3, 11))"


@dataclass(frozen=True)
class Stranger:
    name: str
    open_files: int = 1024
    language: str | None = None
    is_root: bool = True
    home: str = "home"
    has_sbin: bool = True
    has_little: bool = False
    """Neither a browser nor npm nor bash."""
    has_small_disk: bool = False
    ignores_interrupts: bool = False
    """As a shell lets what it starts in the background."""


STRANGERS = (
    Stranger("root in a container"),
    Stranger("a user, few files", 256, "de_DE.UTF-8", is_root=False, home="Jörg Müller", has_sbin=False),
    Stranger("root, small disk", language="C", has_small_disk=True, ignores_interrupts=True),
    Stranger("a user with little", is_root=False, has_sbin=False, has_little=True),
)


def try_all(root: Path, wanted: str = "") -> int:
    """Run the checks for everybody whose name has what is wanted in it, and print one line for each."""
    told, code = [], 0
    for stranger in STRANGERS:
        if wanted in stranger.name:
            verdict, is_red = _try_as(stranger, root)
            print(f"{stranger.name}: {verdict}\n", file=sys.stderr, flush=True)
            told.append(f"{stranger.name:<24}{verdict}")
            code |= is_red
    print(*told, sep="\n")
    return code


def _try_as(stranger: Stranger, root: Path) -> tuple[str, bool]:
    if os.getuid() != 0 and (stranger.is_root or stranger.has_small_disk):
        return "not tried: only root can", False
    with tempfile.TemporaryDirectory(prefix="rb-stranger-") as name, _disk(stranger, Path(name)) as disk:
        Path(name).chmod(0o755)
        run = _shell(stranger, root, Path(name), disk)
        pythons = dict.fromkeys([sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"])
        usable = [one for one in pythons if run(one, "-c", f"import ensurepip, sys; {NEW_ENOUGH}") == 0]
        if not usable:
            return "not tried: no Python 3.11 with ensurepip for this user", False
        began = time.monotonic()
        language = ["--with", f"LANG={stranger.language}"] if stranger.language else []
        code = run(usable[0], "scripts/test.py", *language)
        return f"{'red' if code else 'green'} after {time.monotonic() - began:.0f} s", code != 0


def _shell(stranger: Stranger, root: Path, place: Path, disk: Path | None) -> Callable[..., int]:
    """What runs a program as the stranger, in a fresh clone of the project."""
    home = place / stranger.home
    checkout = home / "reasoningbank"
    home.mkdir()
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", root, checkout], check=True)
    environment = {"HOME": str(home), "PATH": _path(stranger, place), **_for_fetching()}
    if stranger.language is not None:
        environment["LANG"] = stranger.language
    if disk is not None:
        environment["TMPDIR"] = str(disk)
    user = group = others = None
    if os.getuid() == 0 and not stranger.is_root:
        account = pwd.getpwnam("nobody")
        user, group, others = account.pw_uid, account.pw_gid, []
        subprocess.run(["chown", "-R", f"{user}:{group}", home], check=True)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (stranger.open_files, stranger.open_files))
        signal.signal(signal.SIGINT, signal.SIG_IGN if stranger.ignores_interrupts else signal.SIG_DFL)

    def run(*command: str) -> int:
        print(f"{stranger.name} $", *command, file=sys.stderr, flush=True)
        try:
            done = subprocess.run(
                command, cwd=checkout, check=False, env=environment, stdin=subprocess.DEVNULL, preexec_fn=limit,
                user=user, group=group, extra_groups=others,
            )  # fmt: skip
        except OSError as error:
            print(error, file=sys.stderr)
            return 1
        return done.returncode

    return run


@contextmanager
def _disk(stranger: Stranger, place: Path) -> Iterator[Path | None]:
    if not stranger.has_small_disk:
        yield None
        return
    disk = place / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK},mode=1777", "tmpfs", disk], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def _path(stranger: Stranger, place: Path) -> str:
    folders = ["/usr/local/bin", "/usr/bin", "/bin"]
    if stranger.has_sbin:
        folders += ["/usr/local/sbin", "/usr/sbin", "/sbin"]
    if not stranger.has_little:
        return os.pathsep.join(folders)
    links = place / "programs"
    links.mkdir()
    for folder in folders:
        for program in sorted(Path(folder).iterdir()):
            link = links / program.name
            if program.name not in OFTEN_MISSING and not link.is_symlink():
                link.symlink_to(program)
    return str(links)


def _for_fetching() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper().startswith(FETCHING) or name.upper().endswith("_PROXY")
    }
