"""What a text may cost, whatever stands in it, and what becomes of one that would cost more."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from hashlib import sha256

import pytest

from bench.storms.scrub_cost import KNOWN
from reasoningbank import ReasoningBank
from reasoningbank.core.learning import EpisodeStep
from reasoningbank.guard.allowance import UNEXAMINED
from reasoningbank.guard.hidden import hidden, visible
from reasoningbank.guard.personal import PERSONAL
from reasoningbank.guard.secrets import Scrubber
from reasoningbank.learn.offline.failure_kind import kind
from reasoningbank.learn.offline.fixes import fixes
from reasoningbank.recall.features import features_of
from reasoningbank.recall.plan import plan_query
from tests.everyday import some_every_day

SCRUBBER = Scrubber()
CHARS = 60_000
MOST_TIMES_BARE = 60
"""How many times a bare pass a hostile text may take at this length, where the looks that are free weigh most."""


def digest(number: int) -> str:
    return sha256(str(number).encode()).hexdigest()


SECRET = "Zk4!" + "qWe82x"


def seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def times_bare(work: Callable[[str], object], text: str) -> float:
    """Measured again where it seems to be too much: another process may have had the caches."""
    bare, plain = re.compile(r"[a-z]+[0-9]"), "the quick brown fox2 jumps " * (CHARS // 27)
    work(text[:500])
    found = math.inf
    for _ in range(5):
        once = min(seconds(lambda: bare.findall(plain)) for _ in range(2))
        found = min(found, seconds(lambda: work(text)) / max(once, 1e-6))
        if found < MOST_TIMES_BARE:
            break
    return found


OPENINGS = ["password=", "eyJ-", "eyJ.", "://a:", "://a?password=", "-----BEGIN PRIVATE KEY-----\n", "cookie: a=", "sk-ant-",
     "%41", "\\\n", '"+"', "AKIA", "\u200b", "1234:AA", "aaaaaaaa\n", "token is ", "--api-key ", "PuTTY-User-Key-File-2: a\n",
     "kind: Secret\ndata:\n  a: aaaaaaaaaaaa\n", "data:\n a: b\nkind: Secret\n", "key {", "key\nvalue: ", "mongo ", "EAA", "|",
     "LS0tLS1CRUdJTiB", "identified by '"]  # fmt: skip
"""What begins a secret, and, said over and over, many that never end."""


@pytest.mark.parametrize("unit", some_every_day([*KNOWN, *OPENINGS], 3))
def test_a_hostile_text_costs_no_more_than_its_length(unit: str) -> None:
    assert times_bare(SCRUBBER.scrub, (unit * CHARS)[:CHARS]) < MOST_TIMES_BARE


@pytest.mark.parametrize(
    "unit", [" +11111111111111111111a", " +1111111.11111111111a", " 4111 1111 1111 1112", "+1(1)1(1)1a "]
)
def test_rows_of_digits_are_not_parted_into_groups_in_every_way(unit: str) -> None:
    assert times_bare(Scrubber(personal=PERSONAL).scrub, (unit * CHARS)[:CHARS]) < MOST_TIMES_BARE


def test_what_several_searches_cost_together_is_bounded_as_well() -> None:
    """Each of them alone would have looks left."""
    signs = (
        "password=Xy12!kQz ",
        "://jo:Xy12kQzz@h ",
        "cookie: a=A1b2C3d4E5f6G7h8 ",
        "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6 ",
    )
    text = ("".join(signs) * CHARS)[:CHARS]
    assert times_bare(SCRUBBER.scrub, text) < MOST_TIMES_BARE
    done = SCRUBBER.scrub(text)
    assert done.found[UNEXAMINED] >= 1
    assert "Xy12" not in done.text


@pytest.mark.parametrize("unit", ["glimt-", "_OD", "eyJ-", "aA\r", "k_kkk_"])
@pytest.mark.parametrize("work", [plan_query, features_of, kind], ids=lambda work: work.__name__)
def test_a_hostile_question_or_message_is_read_in_one_pass(work: Callable[[str], object], unit: str) -> None:
    assert times_bare(work, (unit * CHARS)[:CHARS]) < MOST_TIMES_BARE


def test_two_actions_of_the_same_few_signs_are_not_compared_sign_by_sign() -> None:
    def compared(text: str) -> object:
        steps = (
            EpisodeStep(action=text[:2_000], result="error: it failed", ok=False),
            EpisodeStep(action=text[:1_900], result="fine", ok=True),
        )
        return fixes(steps, frozenset())

    assert times_bare(compared, "=x ,,,,,,,,,,,,,,,,,,,,," * 200) < MOST_TIMES_BARE


@pytest.mark.parametrize(
    "unit", ["<!--", "<a style='", "<p hidden", "[](http://", '[x](y "', "[//]: ", "\x1b[", "\u200b", "<p hidden>"]
)
@pytest.mark.parametrize("work", [hidden, visible], ids=lambda work: work.__name__)
def test_a_hostile_page_is_read_in_one_pass(work: Callable[[str], object], unit: str) -> None:
    assert times_bare(work, (unit * CHARS)[:CHARS]) < MOST_TIMES_BARE


def test_hidden_characters_in_every_word_are_counted_in_one_pass() -> None:
    assert times_bare(hidden, "\u200bkey=" * (CHARS // 5)) < MOST_TIMES_BARE


def test_what_stands_too_thick_to_be_examined_is_taken_out_and_said() -> None:
    done = SCRUBBER.scrub("A note.\n" + "A1b2C3d4data:password" * 20_000 + f"\npassword: {SECRET}\nThe end.")
    assert done.found[UNEXAMINED] >= 1
    assert f"[SECRET:{UNEXAMINED}]" in done.text
    assert done.text.startswith("A note.\n")
    assert SECRET not in done.text


def test_a_store_of_such_a_text_says_what_was_taken_out(tmp_path) -> None:
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        kept = bank.record(title="hostile", content="A1b2C3d4data:password" * 40_000)
        assert kept.scrubbed[UNEXAMINED] >= 1
        assert len(kept.memory.content) < 400_000
        assert bank.search("A1b2C3d4data:password" * 20_000).total_found >= 0


def test_a_long_file_of_settings_is_examined_to_its_end() -> None:
    lines = [f"SERVICE_{number}_PASSWORD=Xy{number:04}!kQ" for number in range(150)]
    lines += [f"SERVICE_{number}_URL=https://h{number}.internal/path?page={number}" for number in range(400)]
    done = SCRUBBER.scrub("\n".join(lines))
    assert dict(done.found) == {"password": 150}


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"{number:064x}  dist/file-{number}.whl" for number in range(10**60, 10**60 + 4_000)),
        "\n".join(f'{{"token": "word", "logprob": -0.{number}, "position": {number}}}' for number in range(4_000)),
        "The password of a user is never stored; a reset token is mailed and the key expires. " * 2_000,
        "\n".join(f"mem_{number:022d}zzzz,{number},api" for number in range(5_000)),
        "\n".join(f"commit {digest(number)[:40]}" for number in range(6_000)),
        "\n".join(digest(number)[:32] for number in range(6_000)),
        "\n".join(f"{digest(number)[:40]} refs/tags/v{number}" for number in range(6_000)),
    ],
    ids=["digests", "tokens of a model", "prose about passwords", "ids", "a log of commits", "short digests", "refs"],
)
def test_long_harmless_texts_never_come_near_the_end_of_the_allowance(text: str) -> None:
    assert SCRUBBER.scrub(text).text == text
