"""What a person does on the page, what others do meanwhile, and what becomes of a session."""

from __future__ import annotations

import pytest

from reasoningbank_server import tokens
from tests.page.conftest import Looker, new_token, sign_in, wait_until


@pytest.fixture
def memory(filled):
    """One of its own for each test, written by another process than the server's."""
    return filled[1].record(title="Retry with a budget", content="Two retries at most.").id


def confirm(page, button: str, word: str | None = None) -> None:
    page.get_by_role("button", name=button).click()
    page.wait_for_selector("dialog[open]")
    page.locator("dialog").get_by_role("button", name=word or button.rstrip("…"), exact=True).click()
    page.wait_for_selector("dialog", state="detached")


def test_what_somebody_says_moves_the_confidence(looker, memory):
    page = looker.open(f"memory/{memory}")
    before = float(page.inner_text(".big"))
    confirm(page, "It did not…", "It did not help")
    page.get_by_text("somebody said so").wait_for()
    wait_until(page, f"parseFloat(document.querySelector('.big').textContent) < {before}")


def test_an_edit_is_shown_as_what_changed(looker, memory):
    page = looker.open(f"memory/{memory}")
    page.get_by_role("button", name="Edit…").click()
    page.fill("#edit-text", "One retry at most.")
    page.get_by_role("button", name="Save").click()
    page.wait_for_selector(".revisions ins")
    assert "Two" in page.inner_text(".revisions del >> nth=0")
    assert "One" in page.inner_text(".revisions ins >> nth=0")


def test_what_another_one_saved_meanwhile_is_not_overwritten(looker, memory, filled):
    page = looker.open(f"memory/{memory}")
    page.get_by_text("live", exact=True).wait_for()
    page.get_by_role("button", name="Edit…").click()
    page.fill("#edit-text", "Nobody else has written.")
    filled[1].edit(memory, content="Three retries at most.")
    page.locator(".split .said", has_text="Three").wait_for()
    page.get_by_role("button", name="Save").click()
    page.wait_for_selector("dialog .trouble")
    assert filled[1].get(memory).content == "Three retries at most."


def test_what_is_forgotten_can_be_restored_and_what_is_erased_is_gone(looker, memory, filled):
    page = looker.open(f"memory/{memory}")
    confirm(page, "Forget…")
    page.locator(".marks").get_by_text("forgotten").wait_for()
    confirm(page, "Restore…")
    page.get_by_role("button", name="Forget…").wait_for()
    page.get_by_role("button", name="Erase…").click()
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    confirm(page, "Erase…")
    page.wait_for_url("**/ui/search*")
    looker.open(f"memory/{memory}")
    page.get_by_text("There is no memory").wait_for()


def test_a_decision_about_trust_is_rehearsed_and_can_be_taken_back(looker, filled):
    filled[1].record(title="A page says so", content="The office opens at nine.", origin="tool:page")
    page = looker.open("trust")
    page.get_by_role("button", name="Revoke tool:page").click()
    page.locator("dialog").get_by_text("A page says so").wait_for()
    page.locator("dialog").get_by_role("button", name="Revoke", exact=True).click()
    page.locator("tr", has_text="tool:page").get_by_text("revoked").wait_for()
    page.locator("#rulings").scroll_into_view_if_needed()
    page.get_by_role("button", name="Undo…").first.click()
    page.wait_for_selector("dialog[open]")
    page.locator("dialog").get_by_role("button", name="Undo", exact=True).click()
    page.get_by_role("button", name="Revoke tool:page").wait_for()
    looker.open(f"memory/{filled[2]['held']}")
    confirm(page, "Approve…")
    page.get_by_role("button", name="It helped…").wait_for()


def test_a_rule_is_set_and_a_proposal_is_kept_or_dropped(looker, filled):
    bank = filled[1]
    for text in ("Use tabs.", "Never squash."):
        bank.rules.add(text)
    page = looker.open("trust")
    page.get_by_role("button", name="Keep Use tabs.").click()
    page.get_by_role("button", name="Keep Use tabs.").wait_for(state="detached")
    page.get_by_role("button", name="Drop Never squash.").click()
    page.get_by_text("Never squash.").wait_for(state="detached")
    page.fill("#rule", "Never push to main.")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("button", name="Drop Never push to main.").wait_for()
    assert {rule.text for rule in bank.rules.in_force()} == {"Use tabs.", "Never push to main."}


def test_sessions_are_distilled_and_upkeep_is_rehearsed_from_the_queue(looker, filled):
    bank = filled[1]
    run = bank.start_session("a session to distil")
    bank.end_session(run.id, "success")
    page = looker.open("queue?state=waiting")
    page.get_by_role("link", name="a session to distil").wait_for()
    page.get_by_role("button", name="Distil now").click()
    page.get_by_text("distilled,").wait_for()
    page.get_by_role("button", name="What would it change?").click()
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")


def test_what_another_process_writes_appears_by_itself(looker, filled):
    page = looker.open("search")
    page.get_by_text("live", exact=True).wait_for()
    filled[1].record(title="Written elsewhere just now", content="c")
    page.get_by_text("Written elsewhere just now").wait_for()
    filled[1].start_session("A task begun elsewhere")
    looker.open("sessions")
    page.get_by_text("A task begun elsewhere").wait_for()


def test_a_session_that_ends_is_said_to_have_ended(chromium, filled):
    address, bank, names = filled
    token = new_token(bank, "local", "write")
    looker = Looker(chromium, address)
    sign_in(looker, token)
    page = looker.open(f"memory/{names['memory0']}")
    assert page.get_by_role("button", name="Erase…").count() == 0
    tokens.revoke(bank.context.store, token, bank.context.clock())
    page.get_by_role("link", name="Trust", exact=True).click()
    page.get_by_text("Your session has ended").wait_for()
    assert page.locator("main").inner_text().count("memory") == 0
    looker.close()


def test_two_tenants_see_their_own_and_nothing_else(chromium, filled):
    address, bank, names = filled
    for tenant in ("acme", "umbrella"):
        bank.for_tenant(tenant, namespace="default").record(title=f"The secret of {tenant}", content="c")
    for tenant, other in (("acme", "umbrella"), ("umbrella", "acme")):
        looker = Looker(chromium, address)
        sign_in(looker, new_token(bank, tenant, "read"))
        page = looker.open("search")
        page.get_by_text(f"The secret of {tenant}").wait_for()
        assert page.get_by_text(f"The secret of {other}").count() == 0
        looker.open(f"memory/{names['memory0']}")
        page.get_by_text("There is no memory").wait_for()
        page.get_by_text("reading only").wait_for()
        looker.close()


def test_nothing_of_one_tenant_is_kept_for_who_signs_in_after_it(chromium, filled):
    address, bank, _ = filled
    bank.for_tenant("first", namespace="default").record(title="Only of the first", content="c")
    looker = Looker(chromium, address)
    sign_in(looker, new_token(bank, "first", "read"))
    page = looker.open("search")
    page.get_by_text("Only of the first").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_selector("#token")
    # Nothing answers any more: what is shown now was kept.
    page.route("**/v1/memories*", lambda route: None)
    page.fill("#token", new_token(bank, "second", "read"))
    page.click("button[type=submit]")
    page.wait_for_selector("main .waiting")
    assert page.get_by_text("Only of the first").count() == 0
    looker.close()


def test_a_run_of_upkeep_says_what_it_changed_and_is_undone(looker, filled):
    bank = filled[1]
    for text in ("Wrap errors with context", "Wrap the errors with context"):
        bank.record(title="Wrap errors", content=text, namespace="tidy")
    bank.consolidate(namespace="tidy", only=("merge",))
    page = looker.open("queue?ns=tidy")
    line = page.locator("#runs").locator("xpath=../..").locator("li").first
    line.get_by_role("button", name="What it changed").click()
    line.locator(".acts").get_by_text("merged").wait_for()
    assert line.locator(".acts a").all_inner_texts() == ["Wrap errors", "Wrap errors"]
    line.get_by_role("button", name="Undo…").click()
    page.wait_for_selector("dialog[open]")
    page.locator("dialog").get_by_role("button", name="Undo", exact=True).click()
    page.get_by_text(", undone").first.wait_for()
