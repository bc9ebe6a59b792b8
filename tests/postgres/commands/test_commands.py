"""A bank in PostgreSQL through the command line and the library: everything works, and nobody sees its password."""

from __future__ import annotations

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.config import locate
from reasoningbank.config.environment import handed_over
from tests.postgres_server import CAREFUL, PASSWORD, Server

SECRETS = (PASSWORD, "p%40ss", "w:rd")


@pytest.fixture(scope="module")
def url(postgres: Server) -> str:
    """Of a role with a password, and a schema of its own."""
    with postgres.raw("postgres") as admin:
        admin.execute(f"CREATE SCHEMA cli AUTHORIZATION {CAREFUL}")
        admin.execute(f"GRANT CREATE ON DATABASE {postgres.database} TO {CAREFUL}")
    return f"postgresql://{CAREFUL}:p%40ss%2Fw:rd%3F&@/{postgres.database}?host={postgres.socket}&schema=cli"


def test_commands_work_on_it_and_print_no_password(rb, url, monkeypatch, tmp_path, home):
    monkeypatch.setenv("REASONINGBANK_BANK", url)
    said = []

    def run(*words, code=0):
        done = rb(*words)
        assert done.code == code, done.err
        said.append(done.out + done.err)
        return done

    assert "no bank" in run("list", code=5).err.lower()
    run("store", "parser", "Run the parser tests with uv run pytest.")
    assert "uv run pytest" in run("query", "parser tests").out
    status = run("status", "--json").json["store"]
    assert status["backend"].startswith("postgresql 18")
    assert status["location"].startswith(f"postgresql://{CAREFUL}@/")
    assert "postgresql" in run("status").out
    checks = {check["name"]: check for check in run("doctor", "--json").json["checks"]}
    assert {checks[name]["verdict"] for name in ("psycopg", "postgresql", "tenants", "bank", "integrity")} == {"ok"}
    run("verify")
    copy = tmp_path / "copy.db"
    run("backup", copy)
    run("store", "later", "What came after the backup.")
    undo = run("recover", copy, "--yes").err.partition("To undo: ")[2].split()[2]
    assert "What came after" not in run("list", "--json").out
    run("recover", undo, "--yes")
    assert "later" in run("list", "--json").out
    run("import", copy, "--dry-run", code=2)
    assert "uv run pytest" in rb("--bank", copy, "query", "parser tests").out
    run("install", "claude-code", "--dry-run")
    refused = rb("--bank", url, "install", "claude-code", "--dry-run")
    assert "~/.pgpass" in refused.err
    wrong = rb("--bank", url.replace("p%40ss", "p%40sx"), "list")
    assert (wrong.code, "Check the password" in wrong.err) == (5, True)
    everything = "".join([*said, refused.out, refused.err, wrong.out, wrong.err])
    kept = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    for secret in SECRETS:
        assert secret not in everything
        assert not any(secret.encode() in one for one in kept)
    assert not any("p%40ss" in str(path) or PASSWORD in str(path) for path in home.rglob("*"))


def test_a_process_of_ours_is_told_the_password_by_its_environment_and_not_by_an_argument(url):
    location = locate(url)
    named, environment = handed_over(location)
    assert (named, environment["REASONINGBANK_BANK"]) == ("", url)
    assert locate(named or environment["REASONINGBANK_BANK"]) == location
    assert handed_over(locate("postgresql://ann@host/db"))[0] == "postgresql://ann@host/db"


def test_two_openings_share_what_they_learn_and_a_search_sees_it(url):
    with ReasoningBank.open(url, namespace="shared") as one, ReasoningBank.open(url, namespace="shared") as other:
        one.record(title="Deploy on Tuesdays", content="Deploy with make deploy on Tuesdays.")
        assert [match.memory.title for match in other.search("when to deploy")] == ["Deploy on Tuesdays"]
