from __future__ import annotations

from tests.server.conftest import api, token_for  # noqa: F401 - fixtures
