"""Kill servers that share one PostgreSQL, and restart that, under 200 clients that try again as they should.

Clients record, search, judge, read and run sessions; every write has a key and is sent again until it is answered, to
whichever server answers. A server is killed in each round and started again; PostgreSQL is restarted twice, once as if
the power had failed. Two of the servers share one index on disk, the third has its own. In the end everything that was
acknowledged is there exactly once, the feed has every number once, each event stream told its tenant's changes in
order, every session was learned from once, each server finds what another one was told last, and no client ever saw
anything but what it may try again.

`REASONINGBANK_INDEX=pgvector` makes it a storm on an index that all servers share.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import psycopg

from bench.own_postgres import RESTARTS, OwnPostgres, own_postgres
from bench.storms._served import ROOT, environment
from bench.storms._shared_bank import (
    TENANTS,
    check_ends,
    check_feed,
    check_finding,
    check_kept,
    check_learning,
    check_streams,
    check_told,
)
from bench.storms._supervised import Supervised, wait_for
from bench.storms._weather import Promise, Weather
from reasoningbank.wiring import ReasoningBank
from reasoningbank_server import tokens

SLICE = 3
"""Rounds, each with one killed server."""
IS_LONG = True
"""Too long for every day, even as a slice."""
SERVERS = 3
STARTED_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Scale:
    clients: int
    kill_every_s: float
    think_s: float


STORM, SHORT = Scale(200, 30.0, 1.0), Scale(24, 4.0, 0.3)


@dataclass(slots=True)
class Promises:
    kept: Promise = field(default_factory=lambda: Promise("what was acknowledged is there, exactly once"))
    feed: Promise = field(default_factory=lambda: Promise("the feed has every number once, and verify finds nothing"))
    told: Promise = field(default_factory=lambda: Promise("clients see nothing but errors that may be tried again"))
    streams: Promise = field(default_factory=lambda: Promise("event streams tell every change once, across servers"))
    learned: Promise = field(default_factory=lambda: Promise("every session that ended is learned from once"))
    found: Promise = field(default_factory=lambda: Promise("each server finds what another was told"))
    ends: Promise = field(default_factory=lambda: Promise("no server ends by itself, or says more than a sentence"))

    def all(self) -> list[Promise]:
        return [self.kept, self.feed, self.told, self.streams, self.learned, self.found, self.ends]


def storm(weather: Weather) -> list[Promise]:
    promises = Promises()
    scale = STORM if weather.most is None else SHORT
    rounds = weather.most or max(2, int(weather.seconds / scale.kill_every_s))
    with own_postgres() as postgres, ExitStack() as stack:
        bank = postgres.url()
        made = _make_tokens(bank, scale)
        homes = [weather.folder / f"home-{'shared' if number < 2 else number}" for number in range(SERVERS)]
        servers = [
            Supervised(bank, weather.folder, f"server-{n}", home=home, options=("--require-token", "--rate", "0"))
            for n, home in enumerate(homes)
        ]
        for server in servers:
            stack.callback(server.stop)
        promises.ends.check(wait_for(servers, STARTED_WITHIN_S), "the servers did not start")
        clients = _start_clients(weather, scale, made, [server.port for server in servers], rounds)
        stack.callback(clients.kill)
        facts = _weather_the_storm(weather, scale, rounds, servers, postgres)
        assert clients.stdout is not None
        promises.told.check(clients.stdout.readline() == b"done\n", "the clients did not come to an end")
        with ReasoningBank.open(bank, embedder="hash", config="none") as opened:
            check_learning(opened, promises.learned)
            clients.communicate(b"settled\n", timeout=120)
            told = json.loads((weather.folder / "told.json").read_text("utf-8"))
            check_finding(servers, made, promises.found)
            check_ends(servers, facts, promises.ends)
            check_told(told, promises.told)
            check_kept(opened, told, promises.kept)
            check_feed(opened, promises.feed)
            check_streams(opened, told, promises.streams)
    return promises.all()


# ---------------------------------------------------------------- the storm


def _make_tokens(bank: str, scale: Scale) -> list[dict[str, Any]]:
    """A client's name, tenant, token; behind the clients one listener for each tenant."""
    with ReasoningBank.open(bank, embedder="hash", config="none") as opened:
        return [
            {
                "name": f"c{number}",
                "tenant": (tenant := TENANTS[number % len(TENANTS)]),
                "token": tokens.create(
                    opened.context.store,
                    tenant=tenant,
                    scope="write",
                    now=time.time(),
                    random_bytes=os.urandom,
                    lifetime_s=86_400.0,
                )[0],
            }
            for number in range(scale.clients + len(TENANTS))
        ]


def _start_clients(
    weather: Weather, scale: Scale, made: list[dict[str, Any]], ports: list[int], rounds: int
) -> subprocess.Popen[bytes]:
    for who in made:
        who["seed"] = weather.chance.getrandbits(48)
    plan = {
        "ports": ports,
        "seconds": rounds * scale.kill_every_s,
        "think_s": scale.think_s,
        "quiet_s": 2.0,
        "clients": made[: scale.clients],
        "listeners": made[scale.clients :],
    }
    path = weather.folder / "plan.json"
    path.write_text(json.dumps(plan), "utf-8")
    command = [sys.executable, "-m", "bench.storms._good_clients", str(path), str(weather.folder / "told.json")]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr
    )


def _weather_the_storm(
    weather: Weather, scale: Scale, rounds: int, servers: list[Supervised], postgres: OwnPostgres
) -> dict[str, Any]:
    restarts = list(RESTARTS)
    weather.chance.shuffle(restarts)
    at = {max(1, rounds // 3): restarts[0], max(2, 2 * rounds // 3): restarts[1]}
    began, facts = time.monotonic(), {"restarts": 0, "connections": 0, "rss_bytes": 0}
    for number in range(rounds):
        if number:
            weather.chance.choice(servers).kill()
        if number in at:
            # In the middle of a round, or while the server that was just killed comes back.
            _sleep_until(began + (number + weather.chance.choice((0.02, 0.5))) * scale.kill_every_s)
            postgres.restart(at[number])
            facts["restarts"] += 1
        facts["rss_bytes"] = max(facts["rss_bytes"], *(server.rss_bytes for server in servers))
        facts["connections"] = max(facts["connections"], _connections(postgres))
        _sleep_until(began + (number + 1) * scale.kill_every_s)
    return facts


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


def _connections(postgres: OwnPostgres) -> int:
    try:
        with postgres.admin() as admin:
            row = admin.execute("SELECT count(*) FROM pg_stat_activity WHERE usename = 'team'").fetchone()
            return int(row[0]) if row is not None else 0
    except psycopg.Error:
        return 0
