"""`bus …` without a network: keys, grants, peers, what is shared, and what is told when something is wrong."""

from __future__ import annotations

import os
import sys
import time

import pytest

pytest.importorskip("nacl")

from reasoningbank import ReasoningBank
from reasoningbank_bus import Bus
from tests.command_line import Result


class Laptop:
    """A bank of its own, and the commands on it."""

    def __init__(self, rb, path):
        self._rb = rb
        self.path = path
        self.rb("store", "k", "v")

    def rb(self, *words: str) -> Result:
        return self._rb("--bank", str(self.path), *words)

    def bus(self, *words: str) -> Result:
        return self.rb("bus", *words)

    @property
    def key(self) -> str:
        return self.bus("id", "--json").json["key"]

    @property
    def fingerprint(self) -> str:
        return self.bus("id", "--json").json["fingerprint"]


@pytest.fixture
def laptop(rb, tmp_path):
    def make(name: str, *, init: bool = True) -> Laptop:
        made = Laptop(rb, tmp_path / f"{name}.db")
        if init:
            assert made.bus("init").code == 0
        return made

    return make


@pytest.fixture
def anna(laptop) -> Laptop:
    return laptop("anna")


@pytest.fixture
def ben(laptop) -> Laptop:
    return laptop("ben")


def test_init_makes_a_key_for_its_owner_alone_once_and_shows_only_the_public_half(laptop):
    anna = laptop("anna", init=False)
    made = anna.bus("init", "--json")
    assert made.json["new"] is True
    file = anna.path.with_name("anna.db.bus") / "key"
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0
    again = anna.bus("init", "--print")
    assert again.out.splitlines() == [f"key          {made.json['key']}", f"fingerprint  {made.json['fingerprint']}"]
    assert again.err == ""
    assert anna.bus("id").out == again.out
    private = file.read_text().splitlines()[1]
    for said in (made, again, anna.bus("status"), anna.bus("init")):
        assert private not in said.out + said.err


def test_a_key_that_others_can_read_is_refused_with_the_command_that_mends_it(anna):
    file = anna.path.with_name("anna.db.bus") / "key"
    file.chmod(0o644)
    told = anna.bus("id")
    assert told.code != 0
    assert f"chmod 600 {file}" in told.err
    assert "fail  bus" in anna.rb("doctor").out


def test_the_doctor_sees_a_key_that_is_not_the_one_that_the_bank_is_known_by(anna, laptop):
    [known] = [line for line in anna.rb("doctor").out.splitlines() if " bus " in line]
    assert known.startswith("ok")
    other = laptop("ben").path.with_name("ben.db.bus") / "key"
    other.replace(anna.path.with_name("anna.db.bus") / "key")
    told = " ".join(anna.rb("doctor").out.split())
    assert "fail bus" in told
    assert "reasoningbank bus init --anew" in told


def test_every_command_says_what_to_do_before_init_and_makes_nothing(laptop):
    anna = laptop("anna", init=False)
    for words in (("id",), ("grants",), ("spend",), ("peer",), ("share",), ("trust",), ("up",), ("ask", "ben", "q")):
        told = anna.bus(*words)
        assert (told.code, told.err) == (
            4,
            "error: This bank is not on the bus yet: `reasoningbank bus init` makes its key.\n",
        ), words
    status = anna.bus("status")
    assert status.code == 0
    assert "`reasoningbank bus init`" in status.out
    assert anna.bus("status", "--json").json["key"] is None
    assert not anna.path.with_name("anna.db.bus").exists()


def test_without_a_bank_the_missing_bank_is_named(rb, tmp_path):
    told = rb("--bank", str(tmp_path / "none.db"), "bus", "status")
    assert told.code == 5
    assert "There is no bank at" in told.err


def test_without_its_libraries_the_extra_is_named_and_nothing_is_made(laptop, monkeypatch):
    anna = laptop("anna", init=False)
    monkeypatch.setitem(sys.modules, "qh3", None)
    told = anna.bus("init")
    assert told.code == 8
    assert "pip install 'reasoningbank[bus]'" in told.err
    assert not anna.path.with_name("anna.db.bus").exists()


# ---------------------------------------------------------------- grants


def test_a_grant_that_a_wrong_clock_dated_ahead_says_from_when_it_holds(anna, ben):
    ahead = time.time() + 86_400
    with ReasoningBank.open(anna.path, clock=lambda: ahead) as bank, Bus.open(bank) as bus:
        line = bus.grant(ben.key).line
    begins = time.strftime("%Y-%m-%d %H:%M", time.localtime(ahead))
    assert f", from {begins}, until " in ben.bus("accept", line).out


def test_a_grant_says_what_it_gives_is_pasted_and_kept_by_its_holder(anna, ben):
    words = ("--may", "record,search", "--in", "api", "--scope", "team", "--cap", "records=10", "--expires", "1d")
    given = anna.bus("grant", ben.key, "--name", "ben", *words)
    assert given.code == 0
    line = given.out.strip()
    assert line.startswith("rbi1")
    assert f"ben ({ben.fingerprint}) may record and search in api (team), at most 10 records a day, until" in given.err
    kept = ben.bus("accept", line, "--name", "anna")
    assert kept.code == 0, kept.err
    assert f"anna ({anna.fingerprint}) lets you record and search in api (team), at most 10 records a day" in kept.out
    assert anna.bus("status", "--json").json["waiting"] == 0
    [listed] = anna.bus("grants", "--json").json["grants"]
    assert (listed["direction"], listed["state"], listed["caps"]) == ("given", "valid", {"records": 10})
    [held] = ben.bus("grants", "--json").json["grants"]
    assert (held["id"], held["direction"], held["state"]) == (listed["id"], "held", "valid")
    row = anna.bus("grants").out.splitlines()[1].split()
    assert row[:3] == [listed["id"][:12], "you", "ben"]
    assert anna.bus("spend", "--json").json["spend"][0]["spent"] == {}
    assert "records" in ben.bus("spend").out


def test_a_pasted_line_may_be_broken_by_a_mail_and_must_be_whole(anna, ben):
    line = anna.bus("grant", ben.key).out.strip()
    assert ben.bus("accept", line[: len(line) // 2]).code == 2
    assert "cut or changed" in ben.bus("accept", line[:-20]).err
    assert "begins with rbi1" in ben.bus("accept", "hello").err
    assert ben.bus("accept", f"{line[:40]}\n   {line[40:]}\n").code == 0


def test_a_grant_for_another_key_or_of_our_own_making_is_refused_with_the_reason(anna, ben, laptop):
    line = anna.bus("grant", ben.key).out.strip()
    other = laptop("carl")
    told = other.bus("accept", line)
    assert told.code == 9
    assert ben.fingerprint in told.err
    assert other.fingerprint in told.err
    assert "one that you have given" in anna.bus("accept", line).err
    assert "your own key" in anna.bus("grant", anna.key).err


def test_a_cut_off_key_and_unknown_words_are_refused_with_what_is_meant(anna, ben):
    assert "reasoningbank bus id" in anna.bus("grant", ben.key[:-4]).err
    assert "use one of record, signal" in anna.bus("grant", ben.key, "--may", "fly").err
    assert "--cap takes WHAT=N" in anna.bus("grant", ben.key, "--cap", "records").err
    assert "ends some day" in anna.bus("grant", ben.key, "--expires", "never").err
    told = anna.bus("ask", "nobody", "q")
    assert told.code == 3
    assert "There is no peer 'nobody' here" in told.err


@pytest.mark.parametrize(
    ("cap", "instead"),
    [("records", "`record` out"), ("bytes", "that write"), ("searches", "`search` out"), ("tokens", "the cap out")],
)
def test_a_cap_of_nothing_is_refused_with_what_to_say_instead(anna, ben, cap, instead):
    told = anna.bus("grant", ben.key, "--cap", f"{cap}=0")
    assert told.code == 2
    assert told.err.startswith(f"error: A cap of nothing ({cap}=0) gives nothing: leave the")
    assert instead in told.err
    assert anna.bus("grants", "--json").json["grants"] == []


def test_a_derived_grant_gives_less_and_never_more(anna, ben, laptop):
    carl = laptop("carl")
    narrow = ("--may", "record", "--in", "api", "--cap", "records=10", "--delegable")
    ben.bus("accept", anna.bus("grant", ben.key, *narrow).out.strip())
    [held] = ben.bus("grants", "--json").json["grants"]
    refused = ben.bus("grant", carl.key, "--under", held["id"][:12])
    assert refused.code == 9
    assert "may only give less" in refused.err
    made = ben.bus(
        "grant", carl.key, "--under", held["id"][:12], "--may", "record", "--in", "api", "--cap", "records=3"
    )
    assert made.code == 0, made.err
    assert carl.bus("accept", made.out.strip()).code == 0


def test_a_revoked_grant_is_listed_as_such_and_its_holder_cannot_revoke_it(anna, ben):
    line = anna.bus("grant", ben.key, "--name", "ben").out.strip()
    ben.bus("accept", line)
    [given] = anna.bus("grants", "--json").json["grants"]
    assert "only who gave it" in ben.bus("revoke", given["id"]).err
    done = anna.bus("revoke", given["id"][:8])
    assert "1 grant revoked" in done.out
    assert anna.bus("grants", "--json").json["grants"] == []
    [after] = anna.bus("grants", "--all", "--json").json["grants"]
    assert after["state"] == "revoked"


def test_revoking_a_peer_takes_every_grant_and_its_say(anna, ben):
    anna.bus("grant", ben.key, "--name", "ben")
    anna.bus("grant", ben.key)
    anna.bus("trust", "ben")
    done = anna.bus("revoke", "ben", "--json")
    assert done.code == 0, done.err
    assert len(done.json["grants"]) == 2
    assert done.json["ruling"]
    assert anna.bus("trust", "--json").json["roots"] == []
    assert {grant["state"] for grant in anna.bus("grants", "--all", "--json").json["grants"]} == {"revoked"}


def test_what_only_the_user_decides_is_refused_in_an_agents_shell(anna, ben, monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    for words in (("grant", ben.key), ("trust", ben.key), ("peer", ben.key, "--trust", "working"), ("init",)):
        assert anna.bus(*words).code == 9, words
    assert anna.bus("status").code == 0


# ---------------------------------------------------------------- peers and policy


def test_a_peer_is_known_by_name_fingerprint_or_key(anna, ben):
    assert anna.bus("peer", ben.key, "10.0.0.2:9000", "--name", "ben", "--trust", "working").code == 0
    for named in ("ben", "BEN", ben.fingerprint, ben.fingerprint[:12], ben.key):
        [peer] = anna.bus("peer", named, "--json").json["peers"]
        assert (peer["name"], peer["address"], peer["trust"]) == ("ben", "10.0.0.2:9000", "working")
    assert anna.bus("peer", "ben", "localhost").code == 0
    assert anna.bus("peer", "--json").json["peers"][0]["address"] == "localhost:8711"
    for wrong in ("host:0", "host:99999", "host:x", "a b:1"):
        assert anna.bus("peer", "ben", wrong).code == 2
    assert anna.bus("peer", "ben", "--remove").code == 0
    assert anna.bus("peer").err.startswith("No peers yet")


def test_two_peers_cannot_have_one_name(anna, ben, laptop):
    anna.bus("peer", ben.key, "--name", "ben")
    told = anna.bus("peer", laptop("carl").key, "--name", "ben")
    assert told.code == 4
    assert ben.fingerprint in told.err


def test_what_is_shared_is_shown_and_changed_in_parts(anna):
    assert "nothing yet; `reasoningbank bus share --in NAMESPACE`" in anna.bus("share").out
    assert "team and org of every namespace" in anna.bus("share", "--in", "*").out
    changed = anna.bus("share", "--in", "api", "--tag", "proven", "--min-confidence", "0.7")
    assert "team and org of api, tagged proven, with a confidence of 0.7 or more" in changed.out
    assert anna.bus("share", "--scope", "team", "--tag", "", "--json").json == {
        "namespaces": ["api"],
        "scopes": ["team"],
        "tags": [],
        "least_confidence": 0.7,
        "nodes": False,
    }
    assert anna.bus("share", "--min-confidence", "7").code == 2


def test_status_shows_a_bank_that_is_down_and_whom_it_knows(anna, ben):
    anna.bus("grant", ben.key, "--name", "ben")
    page = anna.bus("status").out
    assert anna.fingerprint in page
    assert "down; `reasoningbank bus up`" in page
    assert "ben" in page
    assert "bus         down;" in anna.rb("status").out
