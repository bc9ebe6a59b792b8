"""What only hides a failure, was said instead of done, or is about something else is no way round it."""

from __future__ import annotations

import pytest

from reasoningbank.core.learning import Episode, EpisodeStep, Verdict, VerdictOutcome
from reasoningbank.learn.offline.distiller import OfflineDistiller

MISSING = "du: cannot access 'a.txt': No such file or directory"
SESSIONS = {
    "the same behind a filter": [
        ("ls -r /srv | xargs du -b", MISSING),
        ("ls -r /srv | xargs du -b", MISSING),
        ("ls -r /srv | xargs du -b | wc -l", "0"),
    ],
    "its words filtered out": [
        ("sync /srv/in /srv/out", "sync: paths must be absolute"),
        ("sync /srv/in /srv/out", "sync: paths must be absolute"),
        ('sync -n /srv/in /srv/out 2>&1 | grep -v "must be absolute"', "done"),
    ],
    "still the program that is not there": [
        ("df /srv | tail -1 | bc -l", "bash: line 1: bc: command not found"),
        ('echo "$(df /srv | tail -1)" | bc -l', "0"),
    ],
    "talk instead of a command": [
        ("Great! If you need any more help, feel free to ask.", "bash: line 1: Great!: command not found"),
        ('echo "If you need any more help, feel free to ask."', "If you need any more help, feel free to ask."),
    ],
    "a run of something else": [
        ("python check.py", "python: can't open file 'check.py': [Errno 2] No such file or directory"),
        ("python -m pytest tests/test_load.py", "3 passed in 0.1s"),
    ],
    "a line that could not be read": [
        ("ls /srv | grep 'a b", "bash: -c: line 1: unexpected EOF while looking for matching `''"),
        ("ls /srv | grep 'a b'", "a b"),
    ],
    "a complaint that tells nothing": [
        ("tar -xzf /srv/a.tgz -o", "Command timed out"),
        ("tar -xzf /srv/a.tgz -O", "done"),
    ],
    "the same without a mark of the chat": [
        ("find /srv -mtime +7 | wc -l <|system|>", "bash: syntax error near the mark |"),
        ("find /srv -mtime +7 | wc -l <|system|>", "bash: syntax error near the mark |"),
        ("find /srv -mtime +7 | wc -l", "4"),
    ],
    "nothing done in between": [
        ("deploy /srv/app", "error: lock is held"),
        ("``", ""),
        ("deploy /srv/app", "deployed"),
    ],
    "a bug of one day": [
        ("def halve(n):\n    retrun n / 2", "SyntaxError: invalid syntax"),
        ("halve(4)", "2.0"),
    ],
}


@pytest.mark.parametrize("case", SESSIONS)
def test_it_teaches_nothing(case: str) -> None:
    steps = tuple(EpisodeStep(action=action, result=result) for action, result in SESSIONS[case])
    episode = Episode(task="do the work", namespace="n", steps=steps)
    assert OfflineDistiller().distill(episode, Verdict(outcome=VerdictOutcome.FAILURE)) == []
