"""The files of `examples/team` are what the program, PostgreSQL and systemd understand, and the drill restores a bank."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.own_postgres import OwnPostgres
from reasoningbank import ReasoningBank
from reasoningbank.cli.command import command_named, parser_for
from reasoningbank.config.environment import VARIABLES
from reasoningbank.core.settings import DEFAULTS
from reasoningbank_server.openapi import document
from tests.conftest import SOURCE
from tests.postgres_server import PASSWORD, Server

FOLDER = Path(__file__).parents[1] / "examples" / "team"
OF_LIBPQ = {"PGPASSWORD"}


def parse_options(words: list[str]) -> dict[str, Any]:
    """What the program makes of a command; an option that it does not have ends the test."""
    return vars(parser_for(words[0], command_named(words[0])).parse_args(words[1:]))


def test_the_compose_file_names_files_volumes_variables_and_options_that_are_there() -> None:
    yaml = pytest.importorskip("yaml")
    whole = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
    services = whole["services"]
    assert set(services) == {"postgres", "bank-1", "bank-2", "proxy"}
    mounted = [volume.split(":") for service in services.values() for volume in service["volumes"]]
    for source, *_ in mounted:
        assert (FOLDER / source).is_file() if source.startswith("./") else source in whole["volumes"], source
    assert len({services[name]["volumes"][0] for name in ("bank-1", "bank-2")}) == 2, "each server has its own index"
    for name in ("bank-1", "bank-2"):
        bank = services[name]
        assert set(bank["environment"]) <= {*VARIABLES, *OF_LIBPQ}
        options = parse_options(bank["command"])
        assert (options["host"], options["port"]) == ("0.0.0.0", 8710)
        assert "@" in bank["environment"]["REASONINGBANK_BANK"]
        assert ":" not in bank["environment"]["REASONINGBANK_BANK"].partition("://")[2], "no password in the URL"
        assert f":{options['port']}/readyz" in bank["healthcheck"]["test"][-1]
        assert (FOLDER / ".." / ".." / bank["build"]["dockerfile"]).is_file()
    front = (FOLDER / "nginx.conf").read_text("utf-8")
    assert {*re.findall(r"server (bank-\d):8710", front)} == {"bank-1", "bank-2"}
    assert options["public_url"].removeprefix("https://") in front
    paths = {path for path in re.findall(r"location (/\S*) \{", front) if path != "/"}
    assert paths <= set(document("http://x", DEFAULTS)["paths"])


def read_unit() -> tuple[str, dict[str, str]]:
    text = (FOLDER / "reasoningbank@.service").read_text("utf-8")
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return text, dict(parser["Service"])


def test_the_unit_starts_a_server_with_options_that_it_has() -> None:
    text, service = read_unit()
    _, *words = shlex.split(service["ExecStart"].replace("%i", "8711"))
    assert parse_options(words)["port"] == 8711
    named = re.findall(r"^#?\s*(?:Environment=)?([A-Z_]+)=", text, re.MULTILINE)
    assert {name for name in named if name not in OF_LIBPQ} <= set(VARIABLES)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    text, service = read_unit()
    unit = tmp_path / "reasoningbank@.service"
    unit.write_text(text.replace(service["ExecStart"].split()[0], f'"{sys.executable}"'), "utf-8")
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / "reasoningbank@8711.service")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    said = [line for line in (checked.stdout + checked.stderr).splitlines() if "reasoningbank" in line]
    assert (said, checked.returncode) == ([], 0)


@pytest.fixture
def cluster(postgres: Server, postgres_cluster: OwnPostgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of the bank that `bank.sql` prepares."""
    monkeypatch.setenv("BANK_PASSWORD", PASSWORD)
    words = ["--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--host", postgres.socket, "--username", "postgres"]
    postgres_cluster.run("psql", *words, "--dbname", "postgres", "--file", FOLDER / "bank.sql")
    yield f"postgresql://bank@/bank?host={postgres.socket}"
    with postgres.raw("postgres") as admin:
        admin.execute("DROP DATABASE bank WITH (FORCE)")
        admin.execute("DROP ROLE bank")


def test_the_role_of_the_example_keeps_a_bank_whose_copy_the_drill_restores(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ReasoningBank.open(cluster, embedder="hash", namespace="n") as bank:
        kept = [bank.record(title=f"Lesson {number}", content=f"shelf {number}").id for number in range(3)]
    program = tmp_path / "reasoningbank"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reasoningbank "$@"\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    copy = tmp_path / "copy.db"
    # A password in the URL, with characters that mean something elsewhere in one.
    with_password = cluster.replace("@", f":{PASSWORD}@", 1)
    drill = [str(FOLDER / "restore-drill.sh"), with_password, str(copy)]
    done = subprocess.run(drill, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    assert done.stdout.count("Every row matches its checksum") == 2
    for url in (str(copy), f"{cluster}&schema=restore_drill"):
        with ReasoningBank.open(url, namespace="n") as restored:
            assert [memory.id for memory in reversed(restored.list())] == kept
    with ReasoningBank.open(cluster, namespace="n") as bank:
        assert [memory.id for memory in reversed(bank.list())] == kept, "the bank itself is as it was"
