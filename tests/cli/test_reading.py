from __future__ import annotations


def test_listing_goes_from_the_newest_to_the_oldest(rb):
    ids = [rb("store", f"k{i}", "v").id for i in range(3)]
    lines = rb("list").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ids[::-1]


def test_pages_follow_each_other_without_gap_or_repeat(rb):
    ids = [rb("store", f"k{i}", "v").id for i in range(5)]
    first = rb("list", "--limit", "2", "--json").json
    second = rb("list", "--limit", "2", "--before", first["before"], "--json").json
    third = rb("list", "--limit", "2", "--before", second["before"], "--json").json
    pages = [memory["id"] for page in (first, second, third) for memory in page["memories"]]
    assert pages == ids[::-1]
    assert third["before"] is None


def test_listing_filters(rb):
    rb("store", "a", "v", "--tag", "x", "--outcome", "failure", "--scope", "team")
    rb("store", "b", "v", "--agent", "coder", "--task-type", "fix")

    def keys(*words):
        return [memory["key"] for memory in rb("list", "--json", *words).json["memories"]]

    assert keys("--tag", "x") == ["a"]
    assert keys("--outcome", "failure") == ["a"]
    assert keys("--scope", "team") == ["a"]
    assert keys("--agent", "coder") == ["b"]
    assert keys("--task-type", "fix") == ["b"]
    assert keys("--tag", "y") == []
    assert keys("--tag", "x", "--tag", "y") == []


def test_states_are_listed_apart(rb, memory):
    rb("delete", memory)
    assert rb("list", "--json").json["memories"] == []
    assert rb("list", "--state", "forgotten", "--json").json["memories"][0]["id"] == memory
    assert "forgotten" in rb("list", "--state", "all").out


def test_namespaces_are_listed_apart_or_together(rb):
    rb("store", "a", "v", "--namespace", "one")
    rb("store", "b", "v", "--namespace", "two")
    assert [m["key"] for m in rb("list", "--json", "--namespace", "one").json["memories"]] == ["a"]
    together = rb("list", "--all-namespaces").out
    assert "one" in together
    assert "two" in together


def test_an_empty_list_says_so_on_the_side_of_talk(rb, memory):
    result = rb("list", "--tag", "nothing")
    assert (result.code, result.out) == (0, "")
    assert "No memories in namespace default match." in result.err


def test_getting_by_id_and_by_key_shows_the_same(rb, memory):
    by_id, by_key = rb("get", memory).out.splitlines(), rb("get", "retry").out.splitlines()
    # The fifth line says how long ago it was.
    assert [*by_id[:4], *by_id[5:]] == [*by_key[:4], *by_key[5:]]
    assert "Retry a GET that timed out." in rb("get", memory).out


def test_an_earlier_revision_can_be_read(rb, memory):
    rb("edit", memory, "--content", "new")
    assert rb("get", memory, "--revision", "1", "--json").json["content"] == "Retry a GET that timed out."
    assert "Retry a GET" in rb("get", memory, "--revision", "1").out
    missing = rb("get", memory, "--revision", "7")
    assert missing.code == 3
    assert "1, 2" in missing.err


def test_an_unknown_memory_is_exit_code_3(rb, memory):
    for reference in ("mem_nope", "' OR 1=1 --", "\U0001f600"):
        assert rb("get", reference).code == 3
    assert rb("get", "").code == 2


def test_limits_that_make_no_sense_are_refused_and_huge_ones_work(rb, memory):
    assert rb("list", "--limit", "0").code == 2
    assert rb("list", "--limit", "-5").code == 2
    assert rb("list", "--limit", "many").code == 2
    assert rb("list", "--limit", "9" * 5000).code == 2
    assert rb("list", "--limit", "9" * 30, "--json").json["memories"][0]["id"] == memory


def test_whoever_looks_in_an_empty_namespace_is_told_where_the_memories_are(rb):
    rb("store", "k", "Knead the dough for ten minutes.", "--namespace", "kitchen")
    told = "There are some in kitchen (1): add --namespace NAME, or --all-namespaces."
    assert told in rb("list").err
    assert told in rb("query", "knead dough").err
    assert told not in rb("list", "--namespace", "kitchen", "--tag", "none").err
    assert told not in rb("query", "black holes", "--namespace", "kitchen").err


def test_a_key_with_a_slip_names_the_nearest(rb):
    rb("store", "pg-index", "Build it concurrently.")
    missed = rb("get", "pg-indx")
    assert missed.code == 3
    assert "Did you mean 'pg-index'?" in missed.err
    assert "Did you mean" not in rb("get", "something-else").err


def test_an_index_of_more_than_is_active_says_so(rb):
    rb("store", "one", "Build it concurrently.")
    rb("query", "build it concurrently")
    assert "not active" not in rb("status").out
    rb("store", "two", "Vacuum it at night.")
    rb("delete", "two")
    rb("query", "build it concurrently")
    assert "2 memories (1 of them not active)" in rb("status").out
    assert "2 memories (1 of them not active)" in rb("doctor").out
