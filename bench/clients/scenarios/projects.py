"""Small projects with one mistake to make: what fails, what the failure says, and what works instead."""

from __future__ import annotations

from dataclasses import dataclass

from bench.clients.desk import Desk, Session
from bench.clients.script import Request, Turn, Use


@dataclass(frozen=True, slots=True)
class Mistake:
    """A command that fails in the project, and the one that works."""

    wrong: Use
    right: Use
    remedy: str
    """What a lesson must name."""
    failure: str
    """What the program says when it is called wrongly."""
    prompt: str

    def learn(self, desk: Desk) -> Session:
        """A session that makes the mistake, and gets over it."""
        return desk.session(
            self.prompt, turns=[Turn("I run it.", (self.wrong,)), Turn("", (self.right,)), Turn("It works.")]
        )

    def by_advice(self, request: Request) -> Turn:
        """A model that does what it was told, and only else makes the mistake."""
        return Turn("I run it.", (self.right if self.remedy in request.said else self.wrong,))

    def confirm(self, desk: Desk) -> Session:
        """A session that takes the advice, after which the user is content."""
        return desk.session(
            self.prompt, "Thanks, that is exactly right!", turns=[self.by_advice, Turn("It works."), Turn("Gladly.")]
        )


_RUN_TESTS = """import sys
if "--db" not in sys.argv:
    print("Traceback (most recent call last):\\n  File \\"run_tests.py\\", line 3, in <module>", file=sys.stderr)
    print("ConfigError: DATABASE_URL is not set and no --db was given", file=sys.stderr)
    sys.exit(1)
print("collected 12 items\\n12 passed in 0.31s")
"""
_DEPLOY = """#!/bin/sh
case "$*" in
  *--region*) echo "deployed 3 services" ;;
  *) echo "deploy: error: no region selected for the staging cluster" >&2; exit 2 ;;
esac
"""


def failing_tests(desk: Desk) -> Mistake:
    desk.write("run_tests.py", _RUN_TESTS)
    return Mistake(
        wrong=desk.client.shell("python3 run_tests.py", "Run the test suite"),
        right=desk.client.shell("python3 run_tests.py --db sqlite", "Run the test suite"),
        remedy="--db sqlite",
        failure="ConfigError",
        prompt="Please run the test suite of this project",
    )


def failing_deployment(desk: Desk) -> Mistake:
    desk.write("deploy.sh", _DEPLOY, program=True)
    return Mistake(
        wrong=desk.client.shell("./deploy.sh staging", "Deploy to staging"),
        right=desk.client.shell("./deploy.sh staging --region eu-west-1", "Deploy to staging"),
        remedy="--region",
        failure="no region selected",
        prompt="Deploy the current state to staging",
    )
