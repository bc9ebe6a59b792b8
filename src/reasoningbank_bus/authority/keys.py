"""The Ed25519 key of a node: its file, which is its owner's alone, and the fingerprint by which people compare keys.

The file is text of three lines: what it is, the private half, the public half. Whatever else lies in its place is
refused with a sentence that says what it seems to be; nothing of it is ever shown.
"""

from __future__ import annotations

import os
import stat
import sys
from base64 import b32encode, urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from pathlib import Path

from reasoningbank.core.digest import blake2b
from reasoningbank.core.errors import Conflict, InvalidInput, NotFound, Refused
from reasoningbank.files import sync_folder, whole_file
from reasoningbank_bus.wire.signing import KEY_BYTES, SEED_BYTES, SigningKey

FILE_NAME = "key"
_HEAD = "reasoningbank bus key 1 (ed25519, private: keep it to yourself)"
_MAX_FILE_BYTES = 4096
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_FOREIGN_KINDS = (
    ("OPENSSH PRIVATE KEY", "a private key of OpenSSH"),
    ("RSA PRIVATE KEY", "an RSA key"),
    ("EC PRIVATE KEY", "a key on another curve"),
    ("CERTIFICATE", "a certificate"),
    ("PUBLIC KEY", "the public half of a key"),
    ("PRIVATE KEY", "a private key in another format"),
    ("ssh-", "the public half of an SSH key"),
)
_PUBLIC_PREFIX = "rbk1"


class KeyFile:
    """Where a node's private key lies."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def exists(self) -> bool:
        return self.path.exists()

    def create(self) -> SigningKey:
        """Make a key where there is none. Of two processes that try at once, one is told that there is one."""
        key = SigningKey.generate()
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self.path.with_name(f".{FILE_NAME}.{os.urandom(8).hex()}")
        with whole_file(draft) as file:
            file.write(f"{_HEAD}\n{_text(key.seed)}\n{_text(key.public)}\n".encode())
        try:
            # A link is made or fails; a rename would take the place of a key that another process made meanwhile.
            os.link(draft, self.path)
        except FileExistsError:
            raise Conflict(
                f"There is a key at {self.path} already; whoever knows this bank knows it by that."
            ) from None
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(self.path.parent)
        return key

    def read(self) -> SigningKey:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        except FileNotFoundError:
            raise NotFound(f"There is no key at {self.path}. Make one with: reasoningbank bus init") from None
        except OSError as error:
            raise Refused(f"The key at {self.path} cannot be read: {error.strerror}.") from None
        try:
            self._check_file(os.fstat(descriptor))
            return self._parse(os.read(descriptor, _MAX_FILE_BYTES))
        finally:
            os.close(descriptor)

    def _check_file(self, info: os.stat_result) -> None:
        if not stat.S_ISREG(info.st_mode):
            raise Refused(f"{self.path} is not a file, so it is no key.")
        if sys.platform == "win32":
            return
        if info.st_mode & _OTHERS:
            raise Refused(
                f"Others than its owner can use the key at {self.path} (mode {stat.S_IMODE(info.st_mode):04o}). "
                f"If nobody had it: chmod 600 {self.path}. Otherwise move it away and make a new one: bus init --anew"
            )
        if info.st_uid not in (os.geteuid(), 0):
            raise Refused(f"The key at {self.path} belongs to another user, who can read and replace it.")

    def _parse(self, contents: bytes) -> SigningKey:
        text = contents.decode("ascii", "replace")
        if not text.startswith("reasoningbank bus key "):
            kind = next((what for mark, what in _FOREIGN_KINDS if mark in text[:200]), "something else")
            if len(contents) == SEED_BYTES:
                kind = "bytes without a word of what they are"
            raise InvalidInput(f"{self.path} holds {kind}, not an Ed25519 key of this bus. {_ANEW}")
        lines = text.splitlines()
        if not _HEAD.startswith(lines[0]):
            raise InvalidInput(f"The key at {self.path} is of a kind that this version does not know.")
        try:
            seed, public = (parse_bytes(line) for line in lines[1:])
        except ValueError:
            seed = public = b""
        if len(seed) != SEED_BYTES or len(public) != KEY_BYTES or SigningKey(seed).public != public:
            raise InvalidInput(
                f"The key at {self.path} is damaged or cut short: its halves do not belong together. {_ANEW}"
            )
        return SigningKey(seed)


_ANEW = "Put the right file back, or move this one away and run: reasoningbank bus init --anew"


def fingerprint(public: bytes) -> str:
    """A key in 16 letters to compare by eye: 80 bits of its hash."""
    letters = b32encode(blake2b(b"reasoningbank bus key\0" + public, digest_size=10).digest()).decode().lower()
    return "rb1-" + "-".join(letters[at : at + 4] for at in range(0, 16, 4))


def public_text(public: bytes) -> str:
    """A public key as one word that can be pasted."""
    return _PUBLIC_PREFIX + _text(public)


def parse_public(text: str) -> bytes:
    word = text.strip()
    try:
        public = parse_bytes(word.removeprefix(_PUBLIC_PREFIX))
    except ValueError:
        public = b""
    if not word.startswith(_PUBLIC_PREFIX) or len(public) != KEY_BYTES or public_text(public) != word:
        raise InvalidInput(
            f"{word[:60]!r} is no public key of the bus. One begins with {_PUBLIC_PREFIX} and is shown by: "
            "reasoningbank bus id"
        )
    return public


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def parse_bytes(text: str) -> bytes:
    """Bytes from base64url without padding; ValueError for anything else."""
    if not text.isascii() or len(text) % 4 == 1 or not text.replace("-", "").replace("_", "").isalnum():
        raise ValueError("no base64url")
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except Base64Error:
        raise ValueError("no base64url") from None
