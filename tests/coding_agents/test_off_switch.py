"""The file that silences hooks, as the commands and the hooks read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reasoningbank.core.errors import InvalidInput
from reasoningbank_coding_agents import hooking
from reasoningbank_coding_agents.off_switch import (
    FOR_GOOD,
    OFF_FILE,
    is_off,
    parse_length,
    silent_until,
    switch_off,
    switch_on,
)


def test_hooks_are_silent_for_good_or_until_a_moment_and_speak_again(tmp_path: Path) -> None:
    assert silent_until(tmp_path, 0.0) is None
    assert switch_off(tmp_path, now=1_000.0) == silent_until(tmp_path, 1e12) == FOR_GOOD
    assert switch_off(tmp_path, now=1_000.0, for_s=parse_length("1h")) == silent_until(tmp_path, 2_000.0) == 4_600.0
    assert silent_until(tmp_path, 4_600.0) is None
    assert silent_until(tmp_path, 100.0) is None, "the clock was set back"
    assert (switch_on(tmp_path), switch_on(tmp_path)) == (True, False)


@pytest.mark.parametrize("text", ["", "for good", "1000 soon", "nan"])
def test_a_file_that_makes_no_sense_keeps_hooks_silent_for_good(tmp_path: Path, text: str) -> None:
    (tmp_path / OFF_FILE).write_text(text)
    assert is_off(text.split(), 2_000.0)
    assert silent_until(tmp_path, 2_000.0) == FOR_GOOD


@pytest.mark.parametrize("text", ["", "1", "h", "0m", "400d", "1h30m", "-1h"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="30m, 1h or 2d"):
        parse_length(text)


def test_the_hook_and_the_command_mean_the_same_file() -> None:
    assert hooking.OFF_FILE == OFF_FILE
