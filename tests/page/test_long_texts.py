"""Long texts on the page: lists show excerpts that the server cut, a memory is read part by part, too long is told."""

from __future__ import annotations

import pytest

WORDS = "word " * 20_000
FAR = "the very last words"


@pytest.fixture(scope="module")
def long_ones(filled) -> list[str]:
    """Of a project of their own, so that the lists of others stay short."""
    _, bank, _ = filled
    texts = (f"{number} " + 180_000 * "word " + FAR for number in range(6))
    return [bank.record(title=f"Long {text[:1]}", content=text, namespace="long").id for text in texts]


@pytest.mark.parametrize("path", ["?ns=long", "search?ns=long", "search?ns=long&q=long word", "trust?ns=long"])
def test_a_list_is_sent_excerpts_only(looker, long_ones, path):
    sizes = {}
    looker.page.on("response", lambda told: sizes.update({told.url: int(told.headers.get("content-length", 0))}))
    page = looker.open(path)
    page.wait_for_load_state("load")
    asked = {url: size for url, size in sizes.items() if "/v1/" in url}
    assert asked
    assert max(asked.values()) < 100_000


def test_a_long_memory_is_read_part_by_part(looker, long_ones):
    page = looker.open(f"memory/{long_ones[0]}?ns=long")
    texts = page.locator(".split .said")
    assert len(texts.inner_text()) <= 20_000
    assert "of 900,021 characters" in page.inner_text(".split .more")
    page.get_by_role("button", name="Read on").click()
    texts.nth(1).wait_for()
    assert len(texts.nth(1).inner_text()) <= 20_000
    assert FAR not in page.inner_text("main")


def test_what_is_not_shown_of_a_long_memory_is_not_lost_by_editing_it(looker, filled, long_ones):
    _, bank, _ = filled
    before = bank.get(long_ones[1]).content
    page = looker.open(f"memory/{long_ones[1]}?ns=long")
    page.get_by_role("button", name="Edit…").click()
    page.fill("#edit-title", "Long and renamed")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Long and renamed").wait_for()
    assert bank.get(long_ones[1]).content == before


@pytest.mark.parametrize("chars", [1_000_001, pytest.param(10_000_000, marks=pytest.mark.storm)])
def test_too_long_a_text_is_refused_with_the_limit_and_what_was_there_stays(looker, filled, chars):
    _, bank, names = filled
    page = looker.open(f"memory/{names['long']}")
    page.get_by_role("button", name="Edit…").click()
    page.locator("#edit-text").evaluate(
        "(field, chars) => { field.value = 'x'.repeat(chars); field.dispatchEvent(new Event('input', { bubbles: true })); }",
        chars,
    )
    page.get_by_role("button", name="Save").click()
    told = page.locator("dialog .trouble")
    told.wait_for()
    assert told.inner_text().strip() == f"The advice has {chars:,} characters; a memory holds at most 1,000,000."
    assert bank.get(names["long"]).content == WORDS
