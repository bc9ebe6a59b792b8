"""Two sessions of the real Claude Code and Codex against a scripted model: `pytest -m clients`; see bench/clients.

The first run installs both with npm; without npm they are skipped. `python -m bench clients` prints the same as tables.
"""

from __future__ import annotations

import pytest

from bench.clients.client import CLIENTS
from bench.clients.desk import Desk
from bench.clients.model import ScriptedModel
from bench.clients.npm import NoClients, program
from bench.clients.recorded_program import make_program
from bench.clients.scenarios import SCENARIOS

pytestmark = pytest.mark.clients


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    return make_program(tmp_path_factory.mktemp("program"))


@pytest.fixture
def model():
    with ScriptedModel().running() as made:
        yield made


@pytest.mark.parametrize("client", list(CLIENTS))
@pytest.mark.parametrize("scenario", list(SCENARIOS))
def test_what_the_issue_promises_holds_with_the_real_client(scenario, client, tmp_path, model, python):
    try:
        started = CLIENTS[client](program(client))
    except NoClients as why:
        pytest.skip(str(why))
    SCENARIOS[scenario](Desk(tmp_path, started, model, python))
