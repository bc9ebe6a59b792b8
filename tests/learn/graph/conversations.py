"""Conversations of our own making, in two kinds: an analysis for marketing, and work on code."""

from __future__ import annotations

import json
from typing import Any

Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def agent(text: str) -> Message:
    return {"role": "assistant", "content": text}


def call(name: str, result: str, *, call_id: str, **arguments: Any) -> list[Message]:
    """A call in the form of OpenAI's chat, with its result."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    made = {"id": call_id, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": call_id, "content": result},
    ]


BUDGET: list[Message] = [
    user(
        "Hi! Why did the CPA of the EV9 campaign rise in July? Use Q3_Sales_Data.csv, and look at slide 4 of "
        "Q3_review.pptx. Our CFO prefers tables, not pie charts."
    ),
    *call(
        "run_sql",
        "channel,spend,leads\nsearch,41200,310\nsocial,38900,118",
        call_id="c1",
        query="SELECT channel, SUM(spend) AS spend, SUM(leads) AS leads FROM sales_q3 JOIN leads_q3 USING (lead_id) "
        "WHERE model = 'EV9' GROUP BY channel",
    ),
    *call("read_file", "CPA by week ...", call_id="c2", path="reports/Q3_review.pptx"),
    agent(
        "The CPA of the EV9 campaign rose to 329.66 on social because of 118 leads on 38900 of spend. The bot traffic "
        "spike of July 4–9, 2025 inflated clicks without leads, and the attribution in Q3_review.pptx counts them.\n\n"
        "Would you like a forecast for Q4?"
    ),
    user("From now on, always adjust ROI by the rundown before you report it. What is the ROI then?"),
    *call(
        "run_sql",
        'Error: column "rundown" does not exist',
        call_id="c3",
        query="SELECT SUM(revenue) / SUM(spend) * rundown FROM sales_q3 WHERE model = 'EV9'",
    ),
    *call(
        "run_sql",
        "roi\n1.84",
        call_id="c4",
        query="SELECT SUM(revenue) / SUM(spend) * rundown_factor FROM sales_q3 JOIN rundown_q3 USING (model) "
        "WHERE model = 'EV9'",
    ),
    agent("Adjusted by the rundown, the ROI of the EV9 is 1.84, compared to 2.31 before."),
    user("Great, thanks!"),
    agent("You're welcome! Let me know if you need anything else."),
]

BUDGET_AGAIN: list[Message] = [
    user("Compare the ROI of the EV9 with the EV6 from sales_q3 for the QBR deck, please."),
    *call(
        "run_sql",
        "model,roi\nEV9,1.84\nEV6,2.05",
        call_id="d1",
        query="SELECT model, SUM(revenue) / SUM(spend) * rundown_factor AS roi FROM sales_q3 JOIN rundown_q3 USING (model) "
        "GROUP BY model",
    ),
    agent("The EV6 returns 2.05 and the EV9 1.84, both adjusted by the rundown."),
]

CODING: list[Message] = [
    user(
        "The test tests/test_cart.py::test_total fails since yesterday. Please fix it. Never commit to main directly."
    ),
    *call(
        "bash",
        "FAILED tests/test_cart.py::test_total - AssertionError: assert 29.99 == 30.0\n1 failed in 0.12s",
        call_id="b1",
        command="pytest -q tests/test_cart.py",
    ),
    *call(
        "read_file",
        "def total(items):\n    return sum(item.price for item in items)",
        call_id="b2",
        path="shop/cart.py",
    ),
    agent("I'll round the total now."),
    *call(
        "edit_file",
        "ok",
        call_id="b3",
        path="shop/cart.py",
        old="return sum(item.price for item in items)",
        new="return round(sum(item.price for item in items), 2)",
    ),
    *call("bash", "1 passed in 0.10s", call_id="b4", command="pytest -q tests/test_cart.py"),
    agent("The total in shop/cart.py is rounded to cents now, and tests/test_cart.py passes: 1 passed."),
    user("ok"),
]
