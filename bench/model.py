"""The whole way from sessions to memories on a real model, over any OpenAI-compatible server.

    python -m bench model --url http://127.0.0.1:8080/v1 [--model NAME] [--rounds N] [--timeout S]

Prints what became of each attempt, what was kept, and what it cost. A small model mostly shows that whatever it says
is read strictly or refused: nothing that breaks the form may be in the bank afterwards, and that is checked.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from reasoningbank.core.learning import Lesson
from reasoningbank.learn.answers import problems_of
from reasoningbank.learn.worker_pool import Shift
from reasoningbank.llm.openai import OpenAILLM
from reasoningbank.wiring import ReasoningBank

SESSIONS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    (
        "build the project from a fresh checkout",
        "success",
        (
            ("make", "fatal error: zlib.h: No such file or directory"),
            ("apt install zlib1g-dev", "Setting up zlib1g-dev"),
            ("make", "linking app; done"),
        ),
    ),
    (
        "list the names of all singers",
        "success",
        (
            ("SELECT nam FROM singer", "Error: Unknown column 'nam'"),
            ("DESCRIBE singer", "singer_id, full_name, birth_year, country"),
            ("SELECT full_name FROM singer", "Joe Sharp, Timbaland"),
        ),
    ),
    (
        "cancel the order and refund the customer",
        "failure",
        (
            ("cancel_pending_order('#W1')", "Error: non-pending order cannot be cancelled"),
            ("cancel_pending_order('#W1')", "Error: non-pending order cannot be cancelled"),
            ("I am sorry, I cannot cancel this order.", "Then I will complain."),
        ),
    ),
    (
        "upgrade the client library and keep the tests green",
        "unknown",
        (
            ("pip install -U httpclient", "Successfully installed httpclient-3.0"),
            ("pytest -q", "ImportError: cannot import name 'Session'"),
            ("sed -i s/Session/Client/ app.py", ""),
            ("pytest -q", "12 passed in 0.41s"),
        ),
    ),
    (
        "show the five largest tables of the database",
        "success",
        (
            ("SELECT * FROM sys.tables LIMIT 5", "ERROR: relation sys.tables does not exist"),
            ("SELECT relname FROM pg_class ORDER BY relpages DESC LIMIT 5", "orders, items, events, users, logs"),
        ),
    ),
    (
        "push the release branch",
        "failure",
        (
            ("git push origin release", "error: failed to push some refs: non-fast-forward"),
            ("git push --force origin release", "remote: error: GH006: Protected branch update failed"),
        ),
    ),
    (
        "find out why the nightly export is empty",
        "success",
        (
            ("cat export.log", "0 rows written; filter: date = 2026-13-01"),
            ("python export.py --date 2026-01-13", "4812 rows written"),
        ),
    ),
    (
        "convert the photos to webp",
        "success",
        (
            ("convert a.jpg a.webp", "convert: no encode delegate for this image format `WEBP'"),
            ("cwebp a.jpg -o a.webp", "Saved file a.webp"),
        ),
    ),
    (
        "book a table for six on Friday",
        "failure",
        (
            ('find_tables({"day": "Friday", "people": 6})', "[]"),
            ('book_table({"day": "Friday", "people": 6})', "Error: no table for 6"),
        ),
    ),
    (
        "start the service in a container",
        "success",
        (
            ("docker run app", "Error: listen EACCES: permission denied 0.0.0.0:80"),
            ("docker run -e PORT=8080 -p 80:8080 app", "listening on 8080"),
        ),
    ),
)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench model", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", default="local")
    parser.add_argument("--rounds", type=int, default=1, help="how often to go through the sessions")
    parser.add_argument("--sessions", type=int, default=len(SESSIONS), help="only the first so many of them")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one answer")
    parser.add_argument("--at-once", type=int, default=1)
    asked = parser.parse_args(argv)
    llm = OpenAILLM(asked.model, api_key="none", base_url=asked.url, timeout_s=asked.timeout)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        with ReasoningBank.open(Path(folder) / "bank.db", embedder="hash", namespace="model", llm=llm) as bank:
            for _ in range(asked.rounds):
                for task, outcome, steps in SESSIONS[: asked.sessions]:
                    session = bank.start_session(task)
                    for action, result in steps:
                        bank.add_step(session.id, action, result)
                    bank.end_session(session.id, outcome)
            distilled = bank.distill(Shift(workers=1, batch=asked.at_once))
            kept = [bank.get(memory) for memory in distilled.memories]
            spent = bank.jobs.spending()
        broken = [
            problem
            for item in kept
            for problem in problems_of(
                Lesson(title=item.title, description=item.description, content=item.content, outcome=item.outcome)
            )
        ]
    print(
        json.dumps(
            {
                "sessions": len(SESSIONS[: asked.sessions]) * asked.rounds,
                "ends": Counter(attempt.end for attempt in distilled.attempts),
                "errors": Counter(attempt.error[:160] for attempt in distilled.attempts if attempt.error),
                "kept": [[item.outcome, item.title, item.content[:200]] for item in kept],
                "kept_but_broken": broken,
                "calls": sum(s.calls for s in spent),
                "tokens": [sum(s.tokens_in for s in spent), sum(s.tokens_out for s in spent)],
                "seconds": round(time.monotonic() - began, 1),
            },
            indent=1,
            ensure_ascii=False,
        )
    )
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
