"""What a person sees: the commands on a pseudo-terminal of a known width."""

from __future__ import annotations

import os
import re
import select
import signal
import struct
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from reasoningbank.cli.main import main

pty = pytest.importorskip("pty")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

LONGEST_WAIT_S = 300
STYLE = re.compile(r"\x1b\[[012]m")


def window(columns: int) -> tuple[int, int]:
    """Both ends of a terminal: who watches, and who is watched."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    return master, slave


class Screen:
    """A process whose three streams are a terminal of `columns` columns."""

    def __init__(self, *words: str, columns: int = 80, **environment: str) -> None:
        self._master, slave = window(columns)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "reasoningbank", *words],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**os.environ, "TERM": "xterm", **environment},
            # Whoever runs the tests in the background of a shell has interrupts ignored, and so would the child.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
        )  # fmt: skip
        os.close(slave)
        self._seen = b""

    def until(self, text: str | None = None) -> str:
        """Everything shown so far, read until `text` appears or the process is done."""
        while text is None or text.encode() not in self._seen:
            ready, _, _ = select.select([self._master], [], [], LONGEST_WAIT_S)
            if not ready:
                self.process.kill()
                pytest.fail(f"silent for {LONGEST_WAIT_S} s after {self._seen[-500:]!r}")
            try:
                chunk = os.read(self._master, 65536)
            except OSError:
                break
            if not chunk:
                break
            self._seen += chunk
        return self._seen.decode().replace("\r\n", "\n")

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> tuple[int, str]:
        shown = self.until()
        code = self.process.wait(timeout=300)
        os.close(self._master)
        return code, shown


def see(*words: str, columns: int = 80, **environment: str) -> str:
    """What a command shows there that runs in this process."""
    master, slave = window(columns)
    seen = bytearray()

    def watch() -> None:
        with suppress(OSError):  # the end, on Linux
            while chunk := os.read(master, 65_536):
                seen.extend(chunk)

    watching = threading.Thread(target=watch)
    watching.start()
    streams = {
        name: os.fdopen(os.dup(slave), mode, encoding="utf-8")
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
    }
    os.close(slave)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"TERM": "xterm", **environment}.items():
            patch.setenv(name, value)
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        code = main(words)
    for stream in streams.values():
        stream.close()
    watching.join(LONGEST_WAIT_S)
    os.close(master)
    shown = seen.decode().replace("\r\n", "\n")
    assert code == 0, shown
    return shown


@pytest.mark.parametrize("columns", [80, 120])
def test_tables_fit_the_window_in_any_script(rb, columns):
    from reasoningbank.cli.plain import width

    rb("store", "a", "v", "--title", "日本語のタイトルはとても長い" * 8, "--tag", "漢字" * 20)
    rb("store", "b", "v", "--title", "long " * 60, "--tag", "t" * 100)
    rb("link", "a", "b", "--text", "because " * 30)
    for words in (("list",), ("list", "--all-namespaces", "--state", "all"), ("graph", "neighbours", "a")):
        lines = STYLE.sub("", see(*words, columns=columns)).splitlines()
        assert len(lines) >= 2
        assert max(map(width, lines)) <= columns
        assert "…" in "".join(lines)


def test_a_wide_window_shows_what_a_key_stands_for_and_a_program_gets_no_long_texts(rb):
    rb("store", "go-errors", "Wrap errors so that callers can unwrap them. " * 50)
    assert "Wrap errors so that" in see("list", columns=120)
    assert "Wrap errors" not in see("list", columns=80)
    assert "Wrap errors" not in rb("list").out


def test_what_is_cut_off_a_hit_says_so(rb):
    rb("store", "a", "v", "--title", "Wrap errors with context")
    rb("store", "b", "v", "--title", "Unwrap errors by their cause")
    rb("link", "a", "b", "--kind", "requires", "--text", "because " * 30 + "of the end")
    shown = STYLE.sub("", see("query", "wrap errors with context", "--floor", "0"))
    [last] = [line for line in shown.splitlines() if "because" in line][-1:]
    assert last.endswith("…")


def test_nothing_is_cut_for_a_program(rb):
    rb("store", "b", "v", "--title", "long " * 60)
    assert "long " * 60 in rb("list").out.replace("\n", " ")


def test_stored_text_cannot_drive_the_terminal(rb):
    attack = "red\x1b]0;owned\x07\x1b[31m\x9b32m\u202egnihsif\u2066\x08\x7f\rover"
    rb("store", "evil", attack, "--title", attack, "--description", attack)
    rb("session", "start", attack)
    rb("feedback", "evil", "--helpful", "--comment", attack)
    forbidden = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
    for words in (
        ("list",), ("get", "evil"), ("query", "red over", "--floor", "0"), ("inject", "red over", "--floor", "0"),
        ("session", "list"), ("history", "evil"), ("list", "--json"), ("export",), ("delete", "evil", "--dry-run"),
    ):  # fmt: skip
        shown = see(*words)
        assert "red" in shown
        assert not forbidden.search(STYLE.sub("", shown)), words


def test_json_on_a_terminal_reads_back_the_same(rb):
    import json

    text = "a\x9bb\u202ec\x7fd\x1be"
    rb("store", "k", text)
    assert json.loads(see("get", "k", "--json"))["content"] == text


def test_style_only_for_a_person_who_wants_it(rb, memory):
    assert "\x1b[1m" in see("get", memory)
    assert "\x1b" not in see("get", memory, NO_COLOR="1")
    assert "\x1b" not in see("get", memory, TERM="dumb")
    assert "\x1b" not in rb("get", memory).out


def test_erasing_asks_first(rb, memory):
    refused = Screen("delete", memory, "--erase")
    assert "Type yes" in refused.until("go on: ")
    refused.type("no\n")
    assert refused.end()[0] == 2
    assert rb("get", memory).code == 0
    agreed = Screen("delete", memory, "--erase")
    agreed.until("go on: ")
    agreed.type("yes\n")
    assert agreed.end()[0] == 0
    assert rb("get", memory).code == 3


def test_an_interrupt_ends_quietly_with_130(home):
    screen = Screen("store", "k", "-")
    screen.until("Ctrl-D")
    os.kill(screen.process.pid, signal.SIGINT)
    # A signal just before the read blocks is only noticed when the read returns: end the input too.
    screen.type("\x04")
    code, shown = screen.end()
    assert code == 130
    assert "Traceback" not in shown
    assert not home.exists()


def test_a_long_import_draws_a_bar_and_clears_it(rb, tmp_path):
    file = tmp_path / "many.jsonl"
    file.write_text("".join(f'{{"title": "T{i}", "content": "C{i}"}}\n' for i in range(1500)))
    shown = see("import", str(file))
    assert "importing" in shown
    assert any(line.endswith("0 skipped (reasoningbank-jsonl)") for line in shown.splitlines())
    assert "\r\x1b[K1,500" in shown


def test_the_demo_fits_one_screen(home):
    shown = STYLE.sub("", see("demo"))
    lines = shown.splitlines()
    assert len(lines) <= 34
    assert max(map(len, lines)) <= 80
    assert not home.exists()


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_a_list_shows_key_and_title_within_any_window_and_the_scope_at_80(home, columns):
    see(
        "store",
        "deploy-window-of-the-week",
        "Deploy on Mondays",
        "--title",
        "When to deploy the web shop",
        "--scope",
        "team",
    )
    made = see("record", "--title", "Wrap errors with their context", "--content", "Use %w")
    lines = STYLE.sub("", see("list", columns=columns)).splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[0].split()[:3] == ["ID", "KEY", "TITLE"]
    assert lines[2].split()[1].startswith("deploy-")
    assert "When to" in lines[2]
    assert columns < 80 or ("team" in lines[2] and "project" in lines[1])
    ending = lines[1].split()[0]
    assert ending.removeprefix("…") in made
    assert "Wrap errors" in see("get", ending)


@pytest.fixture
def long_import(tmp_path):
    """An export that takes the local model a while."""
    from reasoningbank import ReasoningBank

    file = tmp_path / "all.jsonl"
    with ReasoningBank.open(tmp_path / "elsewhere.db", namespace="n", embedder="hash") as bank:
        notes = (
            {"title": f"Note {n}", "content": f"shelf {n} " + "of the archive holds a box " * 8} for n in range(150)
        )
        bank.record_many(notes)
        file.write_text("".join(f"{line.rstrip()}\n" for line in bank.export_lines()), encoding="utf-8")
    return file


def test_an_import_shows_one_bar_for_records_and_vectors_and_an_interrupt_says_what_is_owed(rb, long_import):
    screen = Screen("import", "--restore", str(long_import), REASONINGBANK_EMBEDDER="local")
    screen.until("indexing")
    screen.until("%")
    screen.process.send_signal(signal.SIGINT)
    code, shown = screen.end()
    assert code == 130, shown
    assert "150 memories added" in shown
    assert "Stopped. What was kept stays kept. Not indexed yet: " in shown.replace("\n", " ")
    assert "Traceback" not in shown
    assert len(rb("list", "--namespace", "n", "--limit", "500", "--json").json["memories"]) == 150
    shown = see("query", "shelf 149 of the archive", "--namespace", "n")
    assert "indexing" in shown, "a person sees why it takes a while"
    assert "not indexed yet" not in shown
    assert rb("status", "--json").json["lag"] == 0


def test_talk_beside_a_label_stays_beside_it(capsys):
    from reasoningbank.cli.terminal import Terminal

    terminal = Terminal(out=sys.stdout, err=sys.stderr, as_json=False, width=30)
    terminal.tell_labelled("access      ", "open to programs on this machine; --require-token closes it")
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == "access      open to programs"
    assert rest
    assert all(line.startswith(" " * 12) for line in rest)


def test_a_gap_leaves_room_for_its_question_and_goes_by_the_id_that_is_shown(rb, memory):
    question = "rotating the signing certificates of the mail gateway"
    rb("query", question)
    shown = STYLE.sub("", see("gaps"))
    assert question[:35] in shown
    [short] = re.findall(r"gap_\w+…", shown)
    assert "1 question dropped" in rb("gaps", "--forget", short).err
