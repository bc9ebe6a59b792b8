"""Every page in a real Chromium: nothing goes wrong, nothing is asked elsewhere, texts are texts, anybody can use it."""

from __future__ import annotations

import pytest

from tests.page.conftest import HOSTILE, ROOT, Looker

PAGES = {
    "overview": "",
    "search": "search?q=content changed hacked",
    "side by side": "search?q=content changed hacked&beside=semantic",
    "memories": "search",
    "memory": "memory/{memory0}",
    "held back": "memory/{held}",
    "sessions": "sessions",
    "session": "session/{session}",
    "graph": "graph?ns=shop",
    "walk": "graph?q=hacked content",
    "trust": "trust",
    "queue": "queue",
}
AXE = ROOT / "build" / "axe.min.js"
PHONE = {"width": 390, "height": 800}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_without_an_error_and_runs_nothing_that_was_stored(looker, filled, name):
    page = looker.open(PAGES[name].format(**filled[2]))
    # As far as the server and back: an image that was stored would have failed by then.
    page.evaluate("async () => { await fetch(location.href); }")
    assert looker.wrong == []
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.querySelectorAll('main script, main img, main iframe').length") == 0
    assert page.locator(".trouble").count() == 0


def test_no_page_breaks_a_rule_of_accessibility(looker, filled):
    if not AXE.is_file():
        pytest.skip("axe was not asked: python scripts/vendor_ui.py --axe fetches it")
    found = {}
    for name, path in PAGES.items():
        looker.page.emulate_media(color_scheme="light")
        page = looker.open(path.format(**filled[2]))
        # A policy lets no page run another's script; the browser itself may.
        page.evaluate(AXE.read_text("utf-8"))
        for scheme, rules in (("light", "{}"), ("dark", "{runOnly: ['color-contrast']}")):
            page.emulate_media(color_scheme=scheme)
            broken = page.evaluate(
                f"axe.run({rules}).then(found => found.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 120))]))"
            )
            found |= {f"{name}, {scheme}: {rule}": places[:3] for rule, places in broken}
    assert found == {}


def test_on_a_phone_no_page_is_wider_than_the_screen(chromium, looker, filled):
    looker.page.set_viewport_size(PHONE)
    wide = {}
    for name, path in PAGES.items():
        page = looker.open(path.format(**filled[2]))
        if (width := page.evaluate("document.documentElement.scrollWidth")) > PHONE["width"]:
            wide[name] = width
    assert wide == {}


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_texts_are_shown_as_they_were_written(looker, filled, number):
    page = looker.open(f"memory/{filled[2][f'memory{number}']}")
    assert page.inner_text("h1") == f"{number} {HOSTILE[number]}"
    assert page.locator(".split .said").inner_text() == f"{HOSTILE[number]} changed content {number}"


def test_an_address_leads_back_to_what_was_seen(looker):
    page = looker.open("search")
    page.fill("input[type=search]", "content changed")
    page.wait_for_selector(".hits .score")
    page.select_option("form.asking select >> nth=1", "semantic")
    page.wait_for_selector(".beside")
    shared = page.url
    assert "q=content+changed" in shared
    page.goto(shared)
    page.wait_for_selector(".beside .hits .score")
    assert page.input_value("input[type=search]") == "content changed"
    page.locator(".beside > section").nth(1).wait_for()
    assert page.locator(".beside > section").count() == 2


def test_no_letter_is_lost_by_who_types_quicker_than_the_answers_come(looker):
    page = looker.open("search")
    page.locator("#q").press_sequentially("content changed and hacked again and again", delay=55)
    page.wait_for_url("**again+and+again*")
    assert page.input_value("#q") == "content changed and hacked again and again"


def test_a_slash_leads_to_the_search_and_the_first_tab_to_the_contents(looker):
    page = looker.open("trust")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("/")
    page.wait_for_selector("input#q:focus")


def test_a_newcomer_is_told_what_to_do(looker):
    page = looker.open("search?ns=nothing-here")
    page.locator(".nothing").wait_for()


def test_a_memory_that_is_not_there_is_said_not_to_be(looker):
    page = looker.open("memory/mem_nothing")
    page.get_by_text("There is no memory").wait_for()


def test_the_link_of_ui_opens_once(chromium, tmp_path):
    from bench.page.browser import served_page

    with served_page(tmp_path / "bank.db", "new") as link:
        looker = Looker(chromium, link.partition("/ui/")[0])
        looker.enter(link)
        looker.page.get_by_role("heading", name="Nothing learned yet").wait_for()
        assert looker.page.url.endswith("/ui/")
        assert looker.wrong == []
        second = Looker(chromium, looker.address)
        second.page.goto(link)
        second.page.wait_for_selector("#token")
        second.page.get_by_text("opened before").wait_for()
        second.close()
        looker.close()


def test_a_request_given_up_while_its_answer_comes_is_no_answer(looker):
    page = looker.open("trust")
    told = page.evaluate(
        """async () => {
          const { get } = await import(document.querySelector("script[type=module]").src.replace("main.js", "api.js"));
          const control = new AbortController(), whole = window.fetch;
          window.fetch = (...given) => whole(...given).then((answer) => (control.abort(), answer));
          const told = await get("/v1/memories", { signal: control.signal }).catch((error) => error.name);
          window.fetch = whole;
          return told;
        }"""
    )
    assert told == "AbortError"


def test_a_node_that_is_clicked_in_the_drawing_is_read_beside_it(looker, filled):
    filled[1].graph.add(
        [{"id": "ALONE", "label": "UserRequest", "conv_id": "alone", "text": "Once upon a time", "user_role": "r"}]
    )
    page = looker.open("graph?conv=alone")
    page.wait_for_selector(".canvas .over")
    page.locator(".canvas canvas").click()
    page.wait_for_selector(".picked .said")
    assert page.inner_text(".picked .said") == "Once upon a time"
    assert looker.wrong == []
