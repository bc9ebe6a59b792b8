"""The page of peers, before a bank that is on a real bus with another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bench.page.example_bus import served_on_the_bus
from reasoningbank import ReasoningBank
from tests.page.conftest import Looker, new_token
from tests.page.test_pages import AXE, PHONE

pytest.importorskip("qh3")
pytest.importorskip("nacl")


@pytest.fixture(scope="module")
def on_the_bus(tmp_path_factory, chromium) -> Iterator[tuple[str, str]]:
    """The address of Anna's page, and a token that speaks for her."""
    folder = tmp_path_factory.mktemp("bus")
    with served_on_the_bus(folder, called="ben <b>") as address:
        with ReasoningBank.open(folder / "anna.db", config="none") as bank:
            token = new_token(bank, "local", "admin")
        yield address, token


@pytest.fixture
def anna(chromium, on_the_bus) -> Iterator[Looker]:
    address, token = on_the_bus
    looker = Looker(chromium, address, extra_http_headers={"Authorization": f"Bearer {token}"})
    yield looker
    looker.close()


def _open(looker: Looker) -> Any:
    page = looker.open("peers")
    page.get_by_text("connected", exact=True).wait_for()
    return page


def test_peers_are_shown_with_how_far_they_are_and_what_they_may(anna):
    page = _open(anna)
    row = page.locator("tbody tr", has_text="ben <b>").filter(has_text="connected")
    rights = page.locator("tbody tr", has_text="given by us").filter(has_text="ben <b>")
    rights.get_by_text("3 of 3 records").wait_for()
    page.locator("tbody tr", has_text="given to us").wait_for()
    page.locator("tbody tr", has_text="away").filter(has_text="office").wait_for()
    page.get_by_text("Nobody here knows this author").wait_for()
    row.get_by_role("link", name="its memories").click()
    page.get_by_text("Retry idempotent requests only").wait_for()
    assert anna.wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_peers_breaks_no_rule_of_accessibility_and_fits_a_phone(anna, scheme):
    anna.page.emulate_media(color_scheme=scheme)
    page = _open(anna)
    if AXE.is_file():
        page.evaluate(AXE.read_text("utf-8"))
        assert page.evaluate("axe.run().then(found => found.violations.map(v => v.id))") == []
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_peer_is_revoked_after_a_question_and_what_came_of_it_is_hidden(anna):
    page = _open(anna)
    page.get_by_role("button", name="Revoke ben <b>", exact=True).click()
    dialog = page.locator("dialog")
    page.locator("dialog", has_text="everything that came from it is held back").wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_text("in force").nth(2).wait_for()
    assert page.get_by_text("in force").count() == 3
    page.get_by_role("button", name="Revoke ben <b>", exact=True).click()
    dialog.get_by_role("button", name="Revoke", exact=True).click()
    page.get_by_text("1 grant taken back, 3 memories hidden.").wait_for()
    page.get_by_text("revoked", exact=True).first.wait_for()


def test_a_bank_that_is_not_on_the_bus_has_no_page_of_peers_in_its_list(looker):
    page = looker.open("")
    assert page.get_by_role("link", name="Peers").count() == 0
    looker.open("peers")
    page.locator("main", has_text="is not on the bus").wait_for()
