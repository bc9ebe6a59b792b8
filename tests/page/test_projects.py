"""What the page says is true of the project that is looked at, and said to be of the whole bank where it is."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time

import pytest

from bench.page.example_bank import Clock
from reasoningbank import ReasoningBank
from reasoningbank.learn.queue import LONGEST_WAIT_S, MOST_ATTEMPTS
from tests.page.conftest import NAMESPACE


class Unwilling:
    name = "unwilling"

    def distill(self, episode, verdict):
        raise RuntimeError("the model is not at home")


@pytest.fixture(scope="module")
def given_up(filled) -> str:
    """A session that nothing could be learned from, of a project of its own."""
    _, bank, _ = filled
    bank.distill()
    run = bank.start_session("A task of the unlucky", namespace="unlucky")
    bank.end_session(run.id, "success")
    clock = Clock(time.time())
    path = bank.context.store.info.files[0]
    with ReasoningBank.open(path, embedder="hash", distiller=Unwilling(), clock=clock, config="none") as later:
        for _ in range(MOST_ATTEMPTS):
            clock.now += LONGEST_WAIT_S
            later.distill()
        assert later.jobs.tally(namespace="unlucky") == {"dead": 1}
    return run.id


def test_a_project_without_memories_says_so_and_leads_to_those_that_have_some(looker):
    page = looker.open("?ns=brand-new")
    page.get_by_role("heading", name="Nothing learned yet in brand-new").wait_for()
    page.locator("main", has_text="reasoningbank install").wait_for()
    page.locator(".elsewhere").get_by_role("link", name=NAMESPACE, exact=True).click()
    page.locator("h1", has_text=NAMESPACE).wait_for()


def test_what_a_newcomer_is_told_to_type_does_what_the_page_shows(looker, filled):
    page = looker.open("?ns=it's new")
    page.get_by_text("live", exact=True).wait_for()
    typed = shlex.split(page.locator(".ways pre", has_text="record").inner_text())
    path = str(filled[1].context.store.info.files[0])
    whole = [sys.executable, "-m", typed[0], "--bank", path, "--config", "none", *typed[1:]]
    subprocess.run(whole, check=True, timeout=300, stdout=subprocess.DEVNULL)
    page.get_by_role("link", name="Wrap errors", exact=True).wait_for()


def test_what_is_counted_over_the_whole_bank_is_said_to_be(looker, filled):
    filled[1].record(title="Of another project", content="c", namespace="second")
    page = looker.open("?ns=second")
    page.get_by_text("in the whole bank, with").wait_for()
    page.locator(".facts", has_text="1 memory here, of ").wait_for()


def test_a_project_that_comes_to_be_elsewhere_can_be_chosen(looker, filled):
    page = looker.open("trust")
    page.get_by_text("live", exact=True).wait_for()
    filled[1].record(title="The first of its project", content="c", namespace="came-later")
    page.locator(".whose option", has_text="came-later").wait_for(state="attached")


def test_the_figures_of_the_queue_are_those_of_the_list_below_them(looker, given_up):
    page = looker.open("queue?ns=unlucky")
    page.get_by_role("link", name="failed 1", exact=True).click()
    page.get_by_text("the model is not at home").wait_for()
    page = looker.open("queue?ns=nobodys")
    page.get_by_role("link", name="failed", exact=True).wait_for()


def test_a_session_that_was_given_up_is_not_said_to_wait(looker, given_up):
    page = looker.open(f"session/{given_up}?ns=unlucky")
    page.get_by_text("Learning from it failed").first.wait_for()
    assert "waits" not in page.inner_text("main")
    page.get_by_role("link", name="Retry it in the queue").click()
    page.get_by_role("button", name="Retry").click()
    page.get_by_text("It waits for its turn again").wait_for()
    page.get_by_role("button", name="Distil now").click()
    page.get_by_text("1 session distilled").wait_for()
    page = looker.open("queue?ns=unlucky")
    page.locator("tbody tr", has_text="done").wait_for()
    assert "not at home" not in page.inner_text("main")
    page = looker.open(f"session/{given_up}?ns=unlucky")
    page.get_by_role("heading", name="How it was judged").wait_for()
    assert page.locator(".trouble").count() == 0


def test_no_difference_is_neither_more_nor_less(looker):
    page = looker.open("trust")
    told = page.evaluate(
        """async () => {
          const { signed } = await import(document.querySelector("script[type=module]").src.replace("main.js", "words.js"));
          return [signed(-0.004), signed(0.004), signed(-0.26), signed(0.1)];
        }"""
    )
    assert told == ["0.00", "0.00", "−0.26", "+0.10"]
