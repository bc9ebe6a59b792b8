"""Failures, streams and exit codes, whichever command it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reasoningbank import __version__
from reasoningbank.cli.main import main
from reasoningbank.cli.table import COMMANDS, GROUPS

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
found_in_any_locale = pytest.mark.skipif(
    not sys.prefix.isascii(),
    reason="in such a locale Python itself does not find what is installed from a folder like this one",
)


def test_the_overview_lists_every_command_on_one_screen(rb):
    shown = rb("--help").out
    assert shown == rb("help").out == rb().out == rb("-h").out
    for name in COMMANDS:
        assert f" {name.partition(' ')[0]} " in shown
    assert len(shown.splitlines()) <= 60
    assert max(map(len, shown.splitlines())) <= 80
    assert {entry.group for entry in COMMANDS.values()} == set(GROUPS)


def test_the_version(rb):
    assert rb("--version").out == f"reasoningbank {__version__}\n"
    assert rb("--version", "--json").json == {"version": __version__}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_in_three_ways(rb, name):
    words = name.split()
    shown = rb("help", *words).out
    assert shown.startswith(f"usage: reasoningbank {name}")
    assert rb(*words, "--help").out == shown
    assert rb(*words, "-h").out == shown
    assert COMMANDS[name].summary[1:] in " ".join(shown.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_the_three_options_and_refuses_unknown_ones(rb, name):
    shown = rb("help", *name.split()).out
    for option in ("--bank", "--namespace", "--json"):
        assert option in shown
    assert "--traceback" not in shown
    assert rb(*name.split(), "--no-such-option").code == 2


def test_a_word_that_is_no_choice_is_refused_with_the_choices_alone(rb):
    result = rb("outcome", "k", "maybe")
    assert result.code == 2
    assert result.err == "error: outcome cannot be 'maybe': use one of success, failure, survived, reverted.\n"
    assert "use one of causes, requires" in rb("link", "a", "b", "--kind", "hates").err


def test_an_unknown_command_is_a_misuse_with_a_hint(rb):
    result = rb("qeury", "x")
    assert result.code == 2
    assert "Did you mean `query`?" in result.err
    assert rb("help", "lsit").code == 2
    assert rb("--nope").code == 2
    assert rb("--bank").code == 2


def test_options_may_stand_before_or_after_the_command(rb, tmp_path):
    bank = str(tmp_path / "b.db")
    rb("--bank", bank, "--namespace", "n", "store", "k", "v")
    before = rb("--bank", bank, "--namespace", "n", "--json", "get", "k").json
    assert before == rb("get", "k", "--bank", bank, "--json", "--namespace", "n").json
    assert rb("get", "--json", "--bank", bank, "k", "--namespace", "n").json == before


def test_with_json_a_failure_is_json_too(rb):
    result = rb("get", "nope", "--json")
    assert result.json == {"error": {"type": "NotFound", "message": result.err.removeprefix("error: ").strip()}}
    assert rb("list", "--limit", "x", "--json").json["error"]["type"] == "InvalidInput"
    assert rb("--json", "nope").json["error"]["type"] == "InvalidInput"


def test_an_unexpected_failure_is_one_sentence_and_a_traceback_only_on_request(rb, tmp_path):
    rb("store", "k", "v")
    folder = tmp_path / "gone"
    folder.mkdir()
    command = [sys.executable, "-m", "reasoningbank", "list"]
    # A working folder that no longer exists makes the namespace impossible to tell.
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    if os.name != "posix":
        pytest.skip("needs POSIX")
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(folder), *command], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1)
    folder.mkdir()
    shown = subprocess.run(
        ["sh", "-c", script, "sh", str(folder), *command, "--traceback"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ("Traceback" in shown.stderr) == (done.returncode == 1)


@posix
def test_a_closed_pipe_is_silent(spawn):
    for number in range(30):
        spawn_result = main(["store", f"k{number}", "v" * 20_000])
        assert spawn_result == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "reasoningbank", "export"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=300) == 141


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", pytest.param("1", marks=pytest.mark.storm)])
@pytest.mark.parametrize(
    ("words", "reason"), [("list > /dev/full", "No space left on device"), ("list >&-", "it is closed")]
)
def test_output_that_cannot_be_written_is_one_sentence_and_a_failure(memory, words, reason, unbuffered):
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m reasoningbank {words}', sys.executable],
        capture_output=True, text=True, env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: the output could not be written: {reason}. What was stored stays stored.\n"


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("buffering", [-1, 1], ids=["buffered", "by line"])
def test_what_a_command_does_is_done_though_nobody_can_be_told(rb, memory, tmp_path, monkeypatch, buffering):
    transcript = tmp_path / "notes.jsonl"
    transcript.write_text(
        "".join(json.dumps({"title": f"lesson {n}", "content": "c " * 900}) + "\n" for n in range(20))
    )

    def run_in_vain(*words: str) -> None:
        with Path("/dev/full").open("w", buffering=buffering) as full, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", full)
            assert main([*words]) == 1

    run_in_vain("store", "other", "Ask before a payment is sent again.", "--json")
    run_in_vain("edit", "retry", "--content", "Retry a GET twice.")
    run_in_vain("feedback", "retry", "--helpful")
    run_in_vain("import", str(transcript), "--json")
    run_in_vain("link", "retry", "other", "--kind", "requires", "--json")
    shown = {entry["key"] or entry["title"]: entry for entry in rb("list", "--limit", "50", "--json").json["memories"]}
    assert {"retry", "other", *(f"lesson {n}" for n in range(20))} <= shown.keys()
    assert shown["retry"]["content"] == "Retry a GET twice."
    assert shown["retry"]["confidence"] > shown["other"]["confidence"]
    assert "other" in rb("get", "retry").out
    run_in_vain("delete", "other", "--json")
    assert rb("get", "other").code == 3


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_much_output_that_is_lost_before_there_is_talk_is_a_failure_too(capsys, user, monkeypatch):
    with Path("/dev/full").open("w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert main(["install", "opencode"]) == 1
    said = capsys.readouterr().err
    assert "opencode.json created" in said
    assert "error: the output could not be written: No space left on device" in said
    assert (user / ".config" / "opencode" / "opencode.json").exists()


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("out", "reason"), [("> /dev/full", "No space left on device"), (">&-", "it is closed")])
def test_a_server_on_standard_output_says_that_its_answers_are_lost(tmp_path, out, reason):
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines = tmp_path / "in.jsonl"
    lines.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}) + "\n")
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m reasoningbank serve --mcp < "$1" {out}', sys.executable, str(lines)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr == f"error: the output could not be written: {reason}. What was stored stays stored.\n"


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_server_whose_address_cannot_be_written_ends_with_one_sentence():
    words = '"$0" -m reasoningbank serve --port 0 --json > /dev/full'
    done = subprocess.run(["sh", "-c", words, sys.executable], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        "error: the output could not be written: No space left on device. What was stored stays stored.\n"
    )


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("words", "data", "code"), [('store other "Ask before paying twice."', "mem_", 0), ("get other", "", 3)]
)
def test_talk_that_nobody_can_hear_changes_neither_the_data_nor_the_exit_code(memory, words, data, code, unbuffered):
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m reasoningbank {words} 2> /dev/full', sys.executable],
        capture_output=True, text=True, env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    assert (done.returncode, done.stdout[:4]) == (code, data)


@posix
def test_a_small_disk_under_the_output_is_told_of_however_little_is_missing(rb, small_disk):
    for number in range(30):
        rb("store", f"k{number}", "v" * 20_000)
    whole = len(rb("export").out.encode())
    (small_disk / "filler").write_bytes(bytes(shutil.disk_usage(small_disk).free - whole + 4096))
    for unbuffered in ("", "1"):
        with (small_disk / "export.jsonl").open("wb") as file:
            done = subprocess.run(
                [sys.executable, "-m", "reasoningbank", "export"], stdout=file, stderr=subprocess.PIPE, text=True,
                env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            )  # fmt: skip
        assert done.returncode == 1
        assert "No space left on device" in done.stderr


@posix
@pytest.mark.parametrize(
    "closed", ["2>&- <&-", *(pytest.param(one, marks=pytest.mark.storm) for one in ("2>&-", "<&-"))]
)
def test_closed_streams_do_no_harm(memory, closed):
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m reasoningbank get {memory} {closed}', sys.executable],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


IN_TURN = """
import sys
from itertools import groupby
from reasoningbank.cli.main import main
for is_end, words in groupby(sys.argv[1:], ";".__eq__):
    if not is_end:
        main(list(words))
"""


@found_in_any_locale
@pytest.mark.parametrize("locale", ["ascii", "latin-1", "cp1252"])
def test_no_encoding_makes_it_fail_and_json_stays_json(rb, locale):
    rb("store", "schlüssel", "日本語 \U0001f600 – ok", "--title", "Überschrift →")
    environment = {"PYTHONIOENCODING": locale, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [
        "list",
        ";",
        "get",
        "schlüssel",
        ";",
        "history",
        "schlüssel",
        ";",
        "status",
        ";",
        "--help",
        ";",
        "get",
        "ö",
        ";",
        "list",
        "--json",
    ]
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN, *words], capture_output=True, env={**os.environ, **environment}, check=True
    )
    assert b"Traceback" not in done.stderr
    assert b"unexpected" not in done.stderr
    _, _, told = done.stdout.decode(locale).rpartition("\n{\n")
    assert json.loads("{" + told)["memories"][0]["content"] == "日本語 \U0001f600 – ok"


@posix
def test_without_a_home_folder_a_sentence_says_what_to_set_and_a_named_folder_is_enough(spawn, tmp_path):
    # As where a user has no line in the list of users: nothing says what `~` is.
    homeless = {"HOME": "~", "REASONINGBANK_HOME": "", "XDG_DATA_HOME": ""}
    for words in (("store", "k", "v"), ("list",), ("install", "claude-code")):
        result = spawn(*words, **homeless)
        assert (result.code, result.out) == (2, "")
        assert result.err == ("error: This user has no home folder: set HOME, or REASONINGBANK_HOME for the bank.\n"), (
            words
        )
    event = {"hook_event_name": "Stop", "session_id": "s", "cwd": str(tmp_path / "work"), "transcript_path": "t.jsonl"}
    assert spawn("hook", "claude-code", stdin=json.dumps(event).encode(), **homeless).code == 0
    assert not list((tmp_path / "work").iterdir()), "a folder named ~ was made"
    named = {**homeless, "REASONINGBANK_HOME": str(tmp_path / "named")}
    assert spawn("store", "k", "v", **named).code == 0
    examined = spawn("doctor", **named)
    assert (examined.code, "agents       This user has no home folder" in examined.out) == (0, True), examined


@posix
@found_in_any_locale
@pytest.mark.parametrize("name", [b"lat\xfcn", "f\u00fcr mich 100%".encode()], ids=["no UTF-8", "UTF-8"])
def test_a_bank_lies_in_any_folder_whatever_the_locale_says(tmp_path, name):
    home = tmp_path / os.fsdecode(name)
    try:
        home.mkdir()
    except OSError:
        pytest.skip("this file system has no such names")
    bare = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ["PYTHONPATH"], "HOME": str(home)}
    bare |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    def run(*words: str) -> str:
        done = subprocess.run([sys.executable, "-m", "reasoningbank", *words], capture_output=True, env=bare, cwd=home)
        assert (done.returncode, b"error" in done.stderr) == (0, False), done.stderr
        return done.stdout.decode("ascii")

    run("store", "retry", "Retry a GET that timed out.")
    assert "timed out" in run("query", "what about a GET that timed out?")
    run("backup", "copy.db")
    run("delete", "retry", "--erase", "--yes")
    run("recover", "copy.db", "--yes")
    assert "timed out" in run("get", "retry")
    assert "writable" in run("doctor")
    run("verify")


def test_bytes_that_are_no_text_are_a_misuse(memory):
    for words in ([b"get", b"\xff"], [b"store", b"k\xff", b"v", b"--json"]):
        done = subprocess.run(
            [sys.executable.encode(), b"-m", b"reasoningbank", *words], capture_output=True, check=False
        )
        assert done.returncode in (0, 2, 3)
        assert b"Traceback" not in done.stderr
        assert b"bug" not in done.stderr


def test_the_help_of_each_family_fits_into_80_columns_and_the_overview_says_what_it_is_about(rb):
    from reasoningbank.cli.table import families

    overview = rb("help").out
    assert "the memory graph" in overview
    assert "which projects find one another's" in overview
    for name in families():
        assert [line for line in rb(name, "--help").out.splitlines() if len(line) > 80] == []
