from __future__ import annotations


def test_without_teams_the_list_says_what_that_means(rb):
    said = rb("team", "list")
    assert said.code == 0
    assert "No teams yet" in said.err
    assert rb("team", "list", "--json").json == {"teams": []}


def test_a_project_joins_a_team_and_finds_what_the_team_shares(rb):
    rb("record", "--title", "Rotate keys", "--content", "Rotate the signing keys monthly", "--scope", "team",
       "--namespace", "api")  # fmt: skip
    assert "Rotate keys" in rb("query", "rotate the signing keys", "--namespace", "shop").out
    assert rb("team", "add", "core", "api", "billing").out.startswith("core")
    assert "Rotate keys" in rb("query", "rotate the signing keys", "--namespace", "billing").out
    assert "Rotate keys" not in rb("query", "rotate the signing keys", "--namespace", "shop").out
    listed = rb("team", "list").out
    assert "core" in listed
    assert "billing" in listed
    assert rb("list", "--team", "core", "--json").json["memories"][0]["namespace"] == "api"


def test_this_project_is_meant_when_none_is_named(rb):
    assert rb("team", "add", "core", "--namespace", "api", "--json").json == {"name": "core", "namespaces": ["api"]}
    assert "this project is in core" in rb("status", "--namespace", "api").out
    assert "this project is in none" in rb("status", "--namespace", "shop").out
    assert rb("team", "remove", "--namespace", "api").out == "api left core\n"
    assert rb("team", "remove", "--namespace", "api").code != 0
    assert "teams" not in rb("status", "--namespace", "api").out


def test_a_memory_says_of_which_team_it_is(rb):
    stored = rb("record", "--title", "T", "--content", "c", "--scope", "team", "--namespace", "api").id
    rb("team", "add", "core", "api")
    assert "scope team core" in rb("get", stored).out
    assert rb("get", stored, "--json").json["team"] == "core"


def test_the_domain_is_the_namespace(rb):
    rb("store", "k", "value", "--domain", "security")
    assert rb("get", "k", "--namespace", "security").code == 0
    assert rb("--domain", "security", "get", "k").code == 0


def test_what_agents_read_keeps_to_the_team(rb, tmp_path, monkeypatch):
    (tmp_path / "w").mkdir()
    monkeypatch.chdir(tmp_path / "w")
    for home in ("api", "shop"):
        rb("record", "--title", f"Keys of {home}", "--content", f"Rotate keys as {home} does", "--scope", "team",
           "--namespace", home)  # fmt: skip
    rb("team", "add", "core", "api", "billing")
    assert rb("export", "--as", "agents-md", "--namespace", "billing").code == 0
    page = (tmp_path / "w" / "AGENTS.md").read_text()
    assert "as api does" in page
    assert "as shop does" not in page


def test_a_team_without_a_name_is_the_only_thing_that_is_missed(rb):
    refused = rb("team", "add")
    assert refused.code == 2
    assert "required: TEAM\n" in refused.err
