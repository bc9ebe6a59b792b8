from __future__ import annotations

from reasoningbank.core.errors import Conflict


def test_editing_makes_a_revision_and_keeps_the_rest(rb, memory):
    assert "revision 2" in rb("edit", "retry", "--title", "New").err
    after = rb("get", memory, "--json").json
    assert (after["title"], after["content"], after["revision"]) == ("New", "Retry a GET that timed out.", 2)


def test_editing_to_the_same_makes_no_revision(rb, memory):
    assert "unchanged" in rb("edit", memory, "--content", "Retry a GET that timed out.").err
    assert rb("get", memory, "--json").json["revision"] == 1


def test_editing_nothing_is_refused(rb, memory):
    assert rb("edit", memory).code == 2


def test_tags_are_replaced_or_removed(rb, memory):
    assert rb("edit", memory, "--tag", "a", "--tag", "b", "--json").json["tags"] == ["a", "b"]
    assert rb("edit", memory, "--no-tags", "--json").json["tags"] == []


def test_an_edit_on_an_outdated_revision_is_a_conflict(rb, memory):
    rb("edit", memory, "--title", "New")
    late = rb("edit", memory, "--title", "Mine", "--expected-revision", "1")
    assert late.code == Conflict.exit_code
    assert "revision 2" in late.err


def test_forgetting_says_how_to_undo_and_restoring_does_it(rb, memory):
    assert f"restore {memory}" in rb("delete", "retry").err
    assert rb("get", memory, "--json").json["state"] == "forgotten"
    assert "forgotten already" in rb("delete", memory).err
    assert "it was forgotten" in rb("restore", memory).err
    assert rb("get", "retry", "--json").json["state"] == "active"
    assert "active already" in rb("restore", memory).err


def test_restoring_under_a_key_that_was_given_away_is_refused(rb, memory):
    rb("delete", memory)
    rb("store", "retry", "Another one.")
    result = rb("restore", memory)
    assert result.code == Conflict.exit_code
    assert "Traceback" not in result.err


def test_a_dry_run_deletes_nothing(rb, memory):
    assert "would be forgotten" in rb("delete", memory, "--dry-run").err
    assert "would be erased" in rb("delete", memory, "--dry-run", "--erase").err
    assert rb("get", memory, "--json").json["state"] == "active"


def test_erasing_needs_a_yes(rb, memory):
    refused = rb("delete", memory, "--erase")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert rb("get", memory).code == 0
    assert rb("delete", memory, "--erase", "--yes", "--json").json == {"id": memory, "erased": True}
    assert rb("get", memory).code == 3
    assert rb("restore", memory).code == 3


def test_what_was_deleted_by_its_key_is_restored_and_erased_by_it(rb, home):
    first = rb("store", "k", "the first").id
    rb("delete", "k")
    assert rb("restore", "k").id == first
    rb("delete", "k")
    assert "forgotten already" in rb("delete", "k").err
    rb("store", "k", "the second")
    rb("delete", "k")
    refused = rb("restore", "k")
    assert refused.code == 2
    assert first in refused.err
    assert rb("delete", first, "--erase", "--yes").code == 0
    assert rb("delete", "k", "--erase", "--yes").code == 0
    assert rb("restore", "k").code == 3
