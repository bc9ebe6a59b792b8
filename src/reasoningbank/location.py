"""`Location` of a bank: the URL that opens its store, and the folder where this machine keeps what goes with it.

What is behind a URL is asked of a backend (`wiring.backends`). Loads nothing, not even `pathlib`: a hook must know its
place before anything else, at every step of an agent.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as `typing` has it, which a hook need not load for that
if TYPE_CHECKING:
    from pathlib import Path

MEMORY = ":memory:"
FILES = "sqlite"
"""The scheme of a bank that is a file, and may be named by its path alone."""
DEFAULT_NAME = "bank.db"
_DIGEST_BYTES = 8


class Location:
    """A bank's URL, and the local state folder that its index, sockets, locks, session logs and notes hang on."""

    __slots__ = ("_state", "name", "url")

    def __init__(self, url: str, state: str | Path | None, name: str = "") -> None:
        self.url = url
        """A path, where the bank is a file."""
        self._state = None if state is None else str(state)
        self.name = name
        """Prefix of everything of this bank in the state folder, where others may lie there too."""

    @property
    def state(self) -> Path | None:
        """None for a bank that is gone with its process: nothing can be kept for it."""
        from pathlib import Path

        return None if self._state is None else Path(self._state)

    @property
    def scheme(self) -> str:
        scheme, separator, _ = self.url.partition("://")
        return scheme if separator else FILES

    @property
    def is_remote(self) -> bool:
        """True if a look at the bank is a call over a network, which may take a while, and other machines look too."""
        return self.scheme != FILES

    @property
    def absolute_url(self) -> str:
        """For a process that runs in another folder."""
        is_path = self._state is not None and "://" not in self.url
        return _absolute(self.url) if is_path else self.url

    @property
    def has_password(self) -> bool:
        """True if the URL says more than may be shown: it belongs into no file, log or list of processes."""
        return str(self) != self.url

    def file_number(self) -> int | None:
        """Which file the bank is, where it is one: another one in its place has another number."""
        import os

        try:
            return os.stat(self.url).st_ino if self.scheme == FILES else None
        except OSError:
            return None

    def path_of(self, what: str) -> str | None:
        """Where something that goes with the bank is kept, such as its index."""
        if self._state is None:
            return None
        return os.path.join(self._state, f"{self.name}.{what}" if self.name else what)

    def folder(self, what: str) -> Path | None:
        from pathlib import Path

        path = self.path_of(what)
        return None if path is None else Path(path)

    def shared_path(self, name: str) -> str | None:
        """Where a file lies that counts for every bank of this state folder, such as a configuration."""
        return None if self._state is None else os.path.join(self._state, name)

    def __str__(self) -> str:
        return _without_password(self.url)

    def __repr__(self) -> str:
        return f"Location({str(self)!r}, {self._state!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Location) and (self.url, self._state) == (other.url, other._state)

    def __hash__(self) -> int:
        return hash((self.url, self._state))


def parse_location(text: str, home: str | Path) -> Location:
    """The place of a bank that somebody names: a path, `sqlite:///path`, `:memory:` or the URL of another store.

    What goes with a file lies beside it; for any other bank it has a folder of its own in the user's (`home`).
    """
    scheme, separator, rest = text.partition("://")
    if separator and scheme != FILES:
        from reasoningbank.core.digest import blake2b

        url = _without_password(text).encode("utf-8", "surrogatepass")
        digest = blake2b(url, digest_size=_DIGEST_BYTES).hexdigest()
        return Location(text, os.path.join(home, "banks", f"{scheme}-{digest}"))
    path = rest.removeprefix("/") if separator else text
    if path == MEMORY or (separator and not path):
        return Location(MEMORY, None)
    return file_location(_tidy(os.path.expanduser(path)))


def file_location(path: str) -> Location:
    """The place of a bank that is a file, or of one that lives in memory."""
    if path == MEMORY:
        return Location(MEMORY, None)
    if os.path.islink(path):
        # SQLite keeps its log beside the file that is meant, and so is everything else of a bank.
        path = os.path.realpath(path)
    folder, name = os.path.split(_absolute(path))
    return Location(path, folder, name)


def _tidy(path: str) -> str:
    """A path as `pathlib` would write it. What leads back (`..`) stays, as it may lead back through a link."""
    drive, rest = os.path.splitdrive(path.replace(os.altsep, os.sep) if os.altsep else path)
    root = os.sep if rest.startswith(os.sep) else ""
    return drive + root + os.sep.join(part for part in rest.split(os.sep) if part not in ("", ".")) or os.curdir


def _absolute(path: str) -> str:
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)


def split_url(url: str) -> tuple[str, str, str]:
    """A URL's scheme, who connects, with the password, and the rest.

    A password may hold what should stand as %XX: it ends at the last @, so an option with one has to be written as %40.
    """
    scheme, _, rest = url.partition("://")
    place, mark, query = rest.partition("?")
    if ":" in rest.rpartition("@")[0]:
        place, mark, query = rest, "", ""
    who, _, where = place.rpartition("@")
    return scheme, who, f"{where}{mark}{query}"


def _without_password(url: str) -> str:
    """The URL as it may be shown: who connects stays in it, by what right does not."""
    scheme, who, rest = split_url(url)
    if "://" not in url or not (who or "password" in rest):
        return url
    place, mark, query = rest.partition("?")
    options = "&".join(word for word in query.split("&") if "password" not in word.partition("=")[0])
    who = f"{who.partition(':')[0]}@" if who else ""
    return f"{scheme}://{who}{place}{mark if options else ''}{options}"
