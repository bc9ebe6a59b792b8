"""Sessions of the page: a one-time link or a token is exchanged for a cookie that only this server knows.

Nothing of it is kept outside of this process. A session that began with a token holds that token and is worth what the
token is worth from request to request; one that began with the link is this machine's user.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from secrets import token_urlsafe

from reasoningbank.core.frozen import dataclass

LINK_S = 600.0
"""How long a one-time link may wait to be opened."""
SESSION_S = 12 * 3600.0
MOST_SESSIONS = 1_000
_RANDOM_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSession:
    key: bytes
    """A digest of the cookie."""
    authorization: str | None
    """As it would stand in the header; None where the one-time link was opened."""
    until: float


class Entrance:
    def __init__(self, *, port: int, clock: Callable[[], float], secure: bool) -> None:
        # A browser sends the cookies of a host to every port of it.
        self.cookie = f"reasoningbank_{port}"
        self._clock = clock
        self._attributes = "; Path=/; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")
        self._links: dict[bytes, float] = {}
        self._sessions: dict[bytes, PageSession] = {}
        self._lock = threading.Lock()

    def make_link_code(self) -> str:
        """The code that the one-time link carries behind its hash sign, where no server and no log sees it."""
        code = token_urlsafe(_RANDOM_BYTES)
        with self._lock:
            self._links[_digest(code)] = self._clock() + LINK_S
        return code

    def redeem(self, code: str) -> str | None:
        """The cookie for whoever opens a link for the first time and in time."""
        with self._lock:
            until = self._links.pop(_digest(code), 0.0)
        return self.begin(None) if self._clock() < until else None

    def begin(self, authorization: str | None, until: float | None = None) -> str:
        """The value of the header that makes a browser keep the session; `until` is when its credentials end."""
        secret, now = token_urlsafe(_RANDOM_BYTES), self._clock()
        ends = now + SESSION_S if until is None else min(until, now + SESSION_S)
        session = PageSession(key=_digest(secret), authorization=authorization, until=ends)
        with self._lock:
            lasting = {key: other for key, other in self._sessions.items() if now < other.until}
            self._sessions = dict([*lasting.items()][-MOST_SESSIONS + 1 :])
            self._sessions[session.key] = session
        return f"{self.cookie}={secret}; Max-Age={int(ends - now)}{self._attributes}"

    def session(self, cookies: str | None) -> PageSession | None:
        """The session of a request by its Cookie header; None where it has none or it is over."""
        if not cookies or self.cookie not in cookies:
            return None
        try:
            cookie = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return None
        session = None if cookie is None else self._sessions.get(_digest(cookie.value))
        return session if session is not None and self._clock() < session.until else None

    def stands(self, session: PageSession) -> bool:
        return session.key in self._sessions and self._clock() < session.until

    def end(self, cookies: str | None) -> str:
        """The header that makes a browser drop the cookie; here it is worth nothing from now on."""
        session = self.session(cookies)
        if session is not None:
            with self._lock:
                self._sessions.pop(session.key, None)
        return f"{self.cookie}=; Max-Age=0{self._attributes}"


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
