"""The graph on the page: a view that can be shared, and sentences that can be read in the drawing and beside it."""

from __future__ import annotations

from tests.page.conftest import Looker, new_token, sign_in, wait_until


def test_a_view_of_the_graph_is_its_address(looker, filled):
    page = looker.open("graph?limit=5000")
    page.locator(".labels label", has_text="requests").locator("input").uncheck()
    page.wait_for_url("**hide=UserRequest*")
    page.select_option(".filters select >> nth=-1", "7")
    page.wait_for_url("**age=7*")
    assert "limit=5000" in page.url
    page.reload()
    page.wait_for_selector(".labels")
    assert not page.locator(".labels label", has_text="requests").locator("input").is_checked()


def test_both_ends_of_a_sentence_can_be_read(looker, filled):
    bank = filled[1]
    bank.graph.add(
        [{"id": f"BOTH{i}", "label": "UserRequest", "conv_id": "both", "text": f"The {i}. end", "user_role": "r"} for i in (1, 2)],
        [{"id": "BOTH", "source": "BOTH1", "target": "BOTH2", "text": "From one to the other.", "weight": 0.5}],
    )  # fmt: skip
    page = looker.open("graph?conv=both")
    page.locator(".section").get_by_role("button", name="The 2. end").click()
    page.locator(".picked .said", has_text="The 2. end").wait_for()


def test_a_line_of_the_drawing_says_its_sentence(chromium, filled):
    """What is drawn is asked of the drawing: a canvas has no texts."""
    address, bank, _ = filled
    bank.graph.add(
        [{"id": f"LINE{i}", "label": "UserRequest", "conv_id": "line", "text": f"{i}", "user_role": "r"} for i in (1, 2)],
        [{"id": "LINE", "source": "LINE1", "target": "LINE2", "text": "The first led to the second.", "weight": 0.5}],
    )  # fmt: skip
    looker = Looker(chromium, address)
    looker.context.add_init_script(
        "window.drawn = []; const fill = CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { drawn.push(text); fill.call(this, text, ...at); };"
    )
    sign_in(looker, new_token(bank, "local", "admin"))
    page = looker.open("graph?conv=line")
    wait_until(page, "drawn.includes('1') && drawn.includes('2')")
    # Two nodes are laid out around the middle of the view.
    page.locator(".canvas canvas").hover()
    wait_until(page, "drawn.includes('The first led to the second.')")
    looker.close()
