"""A rare word of a question is never refused, wherever a memory holds it; a common one is no such word."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from reasoningbank import ReasoningBank

MANY = 300
KEPT: tuple[dict[str, object], ...] = (
    {"title": "Holiday plan", "content": "Fly to zanzibar in June."},
    {"title": "Pandas", "content": "Take a copy of the frame to be rid of the SettingWithCopyWarning."},
    {"title": "ERR_CONNECTION_REFUSED", "content": "Nothing listens at that port."},
    {"title": "Killed", "content": "A container with exit code 137 ran out of memory."},
    {"title": "Where the build is set up", "content": "Look into tsconfig.build.json first."},
    {"title": "A habit", "content": "Keep the door shut.", "tags": ["kubernetes"]},
    {"title": "Another habit", "content": "Keep the window shut.", "key": "grafana-board"},
)


@pytest.fixture(scope="module", params=["hash", "local"])
def crowded(
    request: pytest.FixtureRequest,
    open_bank: Callable[[str], ReasoningBank],
    everyday: Callable[[int], Sequence[str]],
) -> ReasoningBank:
    bank = open_bank(request.param)
    bank.record_many({"title": text[:-1], "content": text} for text in everyday(MANY))
    bank.record_many(KEPT)
    assert bank.catch_up()
    return bank


def titles(bank: ReasoningBank, question: str, **options: object) -> list[str]:
    return [hit.title for hit in bank.search(question, **options).memories]


def held_by_name(bank: ReasoningBank, question: str) -> set[str]:
    found = bank.candidates(question)
    return {bank.get(memory_id).title for memory_id, named in zip(found.ids, found.named, strict=True) if named}


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("zanzibar", "Holiday plan"),
        ("what did we say about zanzibar", "Holiday plan"),
        ("SettingWithCopyWarning", "Pandas"),
        ("why do I see a SettingWithCopyWarning here", "Pandas"),
        ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_REFUSED"),
        ("my browser says ERR_CONNECTION_REFUSED", "ERR_CONNECTION_REFUSED"),
        ("exit code 137", "Killed"),
        ("it ended with 137", "Killed"),
        ("tsconfig.build.json", "Where the build is set up"),
        ("is there something on tsconfig.build.json", "Where the build is set up"),
        ("kubernetes", "A habit"),
        ("anything on kubernetes", "A habit"),
        ("grafana-board", "Another habit"),
        ("grafana", "Another habit"),
    ],
)
def test_what_holds_a_rare_word_of_the_question_is_shown_first_among_many(
    crowded: ReasoningBank, question: str, title: str
) -> None:
    assert titles(crowded, question)[:1] == [title]


@pytest.mark.parametrize("question", ["memory", "window", "first", "copy", "look", "nothing", "June"])
def test_a_common_word_alone_asks_for_nothing_by_name(crowded: ReasoningBank, question: str) -> None:
    assert held_by_name(crowded, question) == set()


@pytest.mark.parametrize("question", ["ab", "x1", "7"])
def test_one_or_two_characters_are_no_name(crowded: ReasoningBank, question: str) -> None:
    assert held_by_name(crowded, question) == set()


def test_of_a_name_in_parts_only_the_whole_was_asked_for(crowded: ReasoningBank) -> None:
    assert held_by_name(crowded, "ERR_CONNECTION_REFUSED") == {"ERR_CONNECTION_REFUSED"}
    assert held_by_name(crowded, "ERR_CONNECTION_RESET") == set()


@pytest.mark.parametrize(("holding", "counts"), [(2, True), (3, False)])
def test_a_rare_word_is_one_that_at_most_one_memory_in_fifty_holds(
    bank: ReasoningBank, everyday: Callable[[int], Sequence[str]], holding: int, counts: bool
) -> None:
    bank.record_many({"title": text, "content": text} for text in everyday(100))
    bank.record_many({"title": f"Trip {n}", "content": f"Route {n} leads to zanzibar."} for n in range(holding))
    assert held_by_name(bank, "zanzibar") == ({f"Trip {n}" for n in range(holding)} if counts else set())


def test_a_word_of_another_tenant_makes_no_word_common(path, everyday: Callable[[int], Sequence[str]]) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n", tenant="other") as other:
        other.record_many({"title": f"Trip {n}", "content": f"Route {n} leads to zanzibar."} for n in range(20))
    with ReasoningBank.open(path, embedder="hash", namespace="n", tenant="own") as own:
        own.record_many({"title": text, "content": text} for text in everyday(60))
        own.record(title="Holiday plan", content="Fly to zanzibar in June.")
        assert held_by_name(own, "zanzibar") == {"Holiday plan"}


def test_a_rare_word_stays_one_however_often_its_memory_was_edited(
    bank: ReasoningBank, everyday: Callable[[int], Sequence[str]]
) -> None:
    bank.record_many({"title": text, "content": text} for text in everyday(60))
    kept = bank.record(title="Holiday plan", content="Fly to zanzibar in June.")
    for month in ("July", "August", "September"):
        bank.edit(kept.id, content=f"Fly to zanzibar in {month}.")
        assert held_by_name(bank, "zanzibar") == {"Holiday plan"}


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("Holiday plan", "Holiday plan"),
        ("  holiday   PLAN ", "Holiday plan"),
        ("Fly to zanzibar in June.", "Holiday plan"),
        ("grafana-board", "Another habit"),
        ("Keep the window shut.", "Another habit"),
    ],
)
def test_the_very_title_key_or_content_is_as_good_as_certain(crowded: ReasoningBank, question: str, title: str) -> None:
    best = crowded.search(question).memories[0]
    assert best.title == title
    assert best.relevance >= 0.97


def test_the_words_of_tags_and_of_a_key_are_searched_like_others(crowded: ReasoningBank) -> None:
    for word, title in (("kubernetes", "A habit"), ("grafana", "Another habit")):
        found = crowded.candidates(word)
        held = {memory_id for memory_id, score in zip(found.ids, found.keyword, strict=True) if score > 0.0}
        assert [crowded.get(memory_id).title for memory_id in held] == [title]


def test_edited_tags_are_found_and_the_old_ones_no_more(bank: ReasoningBank) -> None:
    kept = bank.record(title="A habit", content="Keep the door shut.", tags=["kubernetes"])
    assert titles(bank, "kubernetes") == ["A habit"]
    bank.edit(kept.id, tags=["terraform"])
    assert titles(bank, "terraform") == ["A habit"]
    assert titles(bank, "kubernetes") == []


@pytest.mark.parametrize(("question", "least"), [("OPS-10777", 0.9), ("see OPS-10777", 0.4)])
def test_the_more_of_a_question_is_the_name_the_surer_is_what_holds_it(tmp_path, question, least):
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash", namespace="n") as bank:
        kept = bank.record(title="Certificates", content="restart the gateway after OPS-10777 was closed")
        bank.record_many({"title": f"Dish {n}", "content": f"boil {n} eggs with salt"} for n in range(60))
        first = bank.search(question).memories[0]
        assert first.id == kept.id
        assert first.relevance >= least


def test_an_everyday_word_of_the_trade_is_no_name(tmp_path):
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash", namespace="n") as bank:
        bank.record(title="Timers", content="Use fake timers in frontend tests of zanzibar")
        assert not bank.candidates("the frontend people", depth=10).named.any()
        assert bank.candidates("the zanzibar people", depth=10).named.any()
