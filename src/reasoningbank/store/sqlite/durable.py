"""Syncs folders and files, so that names and sizes outlive a power loss.

A file may be synced to the last byte and still be lost with the name of the folder it lies in: a name is durable only
when the folder that holds it was synced. A file that was cut may be as long as before until it is synced itself.
"""

from __future__ import annotations

import os
from pathlib import Path

from reasoningbank.files import make_private_folder, sync_folder


def make_folder(path: Path) -> None:
    """Make a folder and those above it that are missing, for this user only, and make their names durable."""
    for folder in make_private_folder(path):
        sync_folder(folder.parent)


def sync_file(path: Path) -> None:
    """Make what a file holds, and that it holds no more, durable. One that is not there needs nothing."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
