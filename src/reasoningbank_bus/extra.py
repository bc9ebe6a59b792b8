"""Checks that the libraries of the bus are installed, and names what to install where they are not."""

from __future__ import annotations

from importlib.util import find_spec

from reasoningbank.core.errors import MissingExtra

PACKAGES = ("qh3", "nacl", "msgspec")


def is_installed() -> bool:
    return all(find_spec(package) is not None for package in PACKAGES)


def require_bus() -> None:
    """Refuse with the command that installs what is missing."""
    for package in PACKAGES:
        if find_spec(package) is None:
            raise MissingExtra(package=package, extra="bus", purpose="The bus")
