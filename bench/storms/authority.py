"""Try to become the user, or a witness, by every writable field of every door and every form of transcript.

A round opens a new desk, on which a person has typed one rule and an agent has really met a failure and its way out,
and lets each door try some claims. Then new sessions begin, in that repository and in another, and what they are told
and refused is what was gained; the honest rule and the honest lesson must go on to work.
"""

from __future__ import annotations

import os
import shutil

from bench.storms import _doors_of_programs as programs
from bench.storms import _doors_over_wires as wires
from bench.storms._claims import make_claim
from bench.storms._doors_in_process import (
    Door,
    calls_the_hook,
    combined,
    commands,
    graph_files,
    imports,
    library,
    peers,
    round_trip,
    transcripts,
)
from bench.storms._forged_files import LAYOUTS
from bench.storms._judging import Desk, Refusal
from bench.storms._weather import Promise, Weather
from reasoningbank.config.environment import AGENT_MARKS
from reasoningbank.core.errors import BankError
from reasoningbank_coding_agents import event_transcript, recall, session_log

SLICE = 1
IS_LONG = True
"""Each of its doors has fixed tests for every day, in `tests/guard/test_authority.py`."""
TRIES, FEW_TRIES = 8, 1
"""Of each door in a round; in the test of every day so few that all doors are tried in some seconds."""
JUDGED_TOGETHER = 8
PATIENCE_S = 60.0

DOORS: dict[str, Door] = {
    "the library in an agent's hands": library,
    "commands under an agent's mark": commands,
    "an event that an agent's shell makes up": calls_the_hook,
    "MCP over stdio": wires.mcp_stdio,
    "MCP over HTTP": wires.mcp_http,
    "REST without a token": wires.rest_anonymous,
    "REST with an agent's token": wires.rest_agent,
    "REST with a reader's token": wires.rest_reader,
    "memories over REST": wires.rest_memories,
    "sessions over REST": wires.rest_sessions,
    "an import over REST": wires.rest_import,
    **{f"a file: {layout}": imports(layout) for layout in LAYOUTS},
    "an export that comes back": round_trip,
    "somebody else's transcripts": transcripts,
    "transcripts where an agent keeps its own": programs.left_transcripts,
    "graphs": graph_files,
    "a trusted peer": peers,
    "prompts with what programs write into them": programs.prompts,
    "outputs of tools": programs.outputs,
    "an agent's own words": programs.answers,
    "records of Claude Code that nobody typed": programs.claude_code,
    "rollouts of Codex": programs.codex,
    "a downloaded folder": programs.downloaded_folder,
    "the files of hooks": programs.state_files,
    "several doors together": combined,
}


def storm(weather: Weather) -> list[Promise]:
    # What a hook gives up for an agent that waits, it waits for here: what is gained must not hang on a clock.
    recall.CATCH_UP_S = session_log.LONGEST_WAIT_S = event_transcript.LONGEST_WAIT_S = PATIENCE_S
    for variable in AGENT_MARKS:
        os.environ.pop(variable, None)
    promises = {name: Promise(f"nothing is gained by {name}") for name in DOORS}
    honest = Promise("the honest rule and the honest lesson go on to work")
    taken = dict.fromkeys(DOORS, 0)
    tries = FEW_TRIES if weather.most == SLICE else TRIES
    number = 0
    for _ in weather.rounds():
        desk: Desk | None = None
        names = [name for name in DOORS for _ in range(tries)]
        for start in range(0, len(names), JUDGED_TOGETHER):
            desk = desk or Desk(weather.folder / f"desk-{number}")
            claims = {}
            for name in names[start : start + JUDGED_TOGETHER]:
                claim = make_claim(number, weather.chance, desk.known)
                claims[claim], number = name, number + 1
                try:
                    DOORS[name](desk, claim, weather.chance)
                    taken[name] += 1
                except (BankError, Refusal):
                    continue
            gains, broken = desk.judge(list(claims))
            for claim, name in claims.items():
                how = [said for gainer, said in gains if gainer is claim]
                promises[name].check(not how, f"{claim} {', '.join(how[:3])}")
            honest.check(bool(gains) or not broken, f"after {', '.join(dict.fromkeys(claims.values()))}: {broken}")
            if gains or broken:
                # What one gained must not be taken for the gain of the next.
                _left(desk)
                desk = None
        if desk is not None:
            _left(desk)
    for name, promise in promises.items():
        promise.measured = f"{taken[name]:,} taken"
    return [*promises.values(), honest]


def _left(desk: Desk) -> None:
    desk.close()
    shutil.rmtree(desk.folder)
