"""Every tool of the real server over standard streams: good arguments, bad ones, and what its annotations promise."""

from __future__ import annotations

import json
import math

import pytest

from recollect.interfaces.mcp.profiles import tools_of

WRITES = {
    "remember", "recall", "revise", "used", "forget", "dream", "rate", "link", "expect", "expectations",
}  # fmt: skip
REPLACES = {"revise", "forget", "dream"}
REPEATABLE = {"forget", "link"}
EVERY_SERVER = ["remember", "recall", "get", "revise", "forget", "status", "recent", "used", "why"]
AUDIT = [
    "recalls", "show", "why_not", "why_changed", "history", "compare", "verify", "dream", "rate", "link", "impact", "stale", "expect",
    "expectations", "check",
]  # fmt: skip


def test_the_tools_say_what_they_take_what_they_give_and_what_they_change(audited):
    tools = audited.get("list_tools").tools
    assert [tool.name for tool in tools] == EVERY_SERVER + AUDIT
    for tool in tools:
        assert tool.description
        assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
        hints = tool.annotations
        assert hints.read_only_hint == (tool.name not in WRITES)
        assert hints.destructive_hint == (tool.name in REPLACES)
        assert hints.idempotent_hint == (tool.name in REPEATABLE or tool.name not in WRITES)
        assert hints.open_world_hint is False


def test_every_argument_is_described(audited):
    for tool in audited.get("list_tools").tools:
        for name, schema in tool.input_schema["properties"].items():
            assert schema.get("description"), f"{tool.name}.{name}"


def test_a_memory_is_remembered_found_read_revised_and_forgotten(audited):
    memory = audited.ok(
        "remember", text="The espresso machine is in the kitchen", tags="coffee", importance="0.9"
    )
    assert memory["revision"] == 1
    answer = audited.ok("recall", question="where is the espresso machine?", top_k="1")
    (hit,) = answer["hits"]
    assert (hit["id"], hit["rank"], hit["content"]) == (
        memory["id"],
        1,
        "The espresso machine is in the kitchen",
    )
    assert answer["recall"].startswith("r")
    assert answer["basis"] < int(answer["recall"][1:])
    assert answer["formula"].startswith("recollect@")
    assert answer["degraded"] == []
    assert "factors" not in hit
    told = (hit["kind"], hit["project"], hit["session"], hit["source"], hit["tags"], hit["revision"])
    assert told == ("note", None, None, None, ["coffee"], 1)
    assert hit["at"] == audited.ok("get", id=hit["id"])["created_at"]
    (hit,) = audited.ok("recall", query="where is the espresso machine?", k=1, factors=True, record=False)[
        "hits"
    ]
    assert hit["factors"]["lexical.rank"] == 1
    assert all(value == float(f"{value:.4g}") for value in hit["factors"].values())
    read = audited.ok("get", memory_id=memory["id"])
    assert (read["tags"], read["importance"], read["accesses"]) == (["coffee"], 0.9, 1)
    revised = audited.ok(
        "revise", id=memory["id"], content="The espresso machine is in the hall", clear="source"
    )
    assert revised["revision"] == 2
    assert audited.ok("get", id=memory["id"], at=f"@{read['at']}")["content"].endswith("kitchen")
    audited.ok("forget", id=memory["id"], reason="sold")
    assert memory["id"] not in {one["id"] for one in audited.ok("recall", q="espresso machine")["hits"]}
    hidden = audited.ok("get", id=memory["id"])
    assert not hidden["visible"]
    assert "sold" in hidden["hidden_because"]


def test_a_question_brings_its_context(audited):
    audited.ok("remember", content="The espresso machine is in the kitchen", id="coffee", kind="decision")
    context = {"profile": "decision", "weights": {}, "tags": ["coffee"]}
    answer = audited.ok("recall", query="where is the espresso machine?", formula="omega", context=context)
    assert [hit["id"] for hit in answer["hits"]] == ["coffee"]
    refused = audited.refused("recall", query="espresso", formula="omega", context={"profile": "decison"})
    assert "did you mean 'decision'" in refused


def test_what_is_recent_needs_no_question_and_stays_in_its_project_and_budget(audited):
    for number in range(3):
        audited.ok(
            "remember", content=f"回忆 number {number} " + "長" * 50, id=f"fox-{number}", project="foxes",
            at=f"2026-01-0{number + 1}", kind="decision" if number else "note", tags=["fur"],
        )  # fmt: skip
    before = audited.ok("status")["head"]
    found = audited.ok("recent", project="foxes")
    assert [one["id"] for one in found["memories"]] == ["fox-2", "fox-1", "fox-0"]
    newest = found["memories"][0]
    assert (newest["kind"], newest["at"][:10], newest["tags"]) == ("decision", "2026-01-03", ["fur"])
    assert [one["id"] for one in audited.ok("recent", project="foxes", n=1)["memories"]] == ["fox-2"]
    assert [one["id"] for one in audited.ok("recent", project="foxes", kind="note")["memories"]] == ["fox-0"]
    few = audited.ok("recent", project="foxes", max_tokens=found["tokens"] - 1)
    assert (len(few["memories"]), few["left_out"]) == (2, 1)
    assert audited.ok("status")["head"] == before


def test_what_was_used_is_written_and_counts(audited):
    audited.ok("remember", content="The stork is back", id="stork", project="birds")
    recall = audited.ok("recall", query="stork", project="birds")["recall"]
    written = audited.ok("used", ids="stork", recall=recall, session="s9")
    assert written == {"id": "stork", "seq": audited.ok("status")["head"]}
    assert audited.ok("get", id="stork")["used"] == 1
    assert "no memory has the id 'nobody'" in audited.refused("used", ids=["nobody"])
    assert audited.refused("used", ids=[])


def test_a_verdict_is_one_of_three_and_the_schema_says_so(audited):
    (rate,) = (tool for tool in audited.get("list_tools").tools if tool.name == "rate")
    assert set(rate.input_schema["properties"]["verdict"]["enum"]) == {"helpful", "unhelpful", "outdated"}
    audited.ok("remember", content="The heron is grey", id="heron")
    assert "one of" in audited.refused("rate", id="heron", verdict="nice")


def test_a_known_id_is_not_replaced_and_a_retry_changes_nothing(audited):
    told = {"content": "The cat is called Miez", "id": "cat"}
    assert audited.ok("remember", **told) == {
        "id": "cat", "revision": 1, "unchanged": False, "similar": [], "degraded": [],
    }  # fmt: skip
    assert audited.ok("remember", **told) == {
        "id": "cat", "revision": 1, "unchanged": True, "similar": [], "degraded": [],
    }  # fmt: skip
    assert "use revise" in str(audited.get("list_tools").tools[0].input_schema["properties"]["id"])
    assert "is there already" in audited.refused("remember", content="The cat is called Minka", id="cat")
    assert audited.ok("get", id="cat")["content"] == "The cat is called Miez"


def test_remember_says_what_it_resembles_and_replaces_what_it_is_told_to(audited):
    audited.ok("remember", content="Auth sessions live in Redis", id="redis")
    new = audited.ok("remember", content="Auth sessions live in Mongo", id="mongo")
    assert [(one["id"], one["by"]) for one in new["similar"]] == [("redis", "meaning")]
    audited.ok("revise", id="mongo", supersedes="redis")
    told = audited.ok(
        "remember", content="Auth sessions live in Postgres", id="postgres", supersedes=["mongo"]
    )
    assert told["similar"] == []
    found = {hit["id"] for hit in audited.ok("recall", query="where do auth sessions live?")["hits"]}
    assert found & {"redis", "mongo", "postgres"} == {"postgres"}
    assert "is superseded" in audited.refused(
        "remember", content="Sessions live in Kafka", supersedes=["redis"]
    )


def test_forgetting_again_is_no_error_and_writes_nothing(audited):
    audited.ok("remember", content="The mouse is grey", id="mouse")
    first = audited.ok("forget", id="mouse", reason="eaten")
    assert first["seq"] == audited.ok("status")["head"]
    assert audited.ok("forget", id="mouse", reason="eaten") == {"id": "mouse", "seq": None}
    assert "forgotten already" in audited.call("forget", id="mouse").content[0].text
    assert audited.ok("status")["head"] == first["seq"]


def test_a_formula_in_the_log_is_named_with_its_digest(audited):
    audited.ok("remember", content="The owl is awake", id="owl")
    label = audited.ok("recall", query="who is awake?", formula="reverie")["formula"]
    assert label.startswith("reverie@")
    assert audited.ok("recall", query="who is awake?", formula=label)["formula"] == label
    assert audited.ok("why_changed", query="owl", id="owl", since="@1", formula=label)["id"] == "owl"
    assert "no.such@0123456789ab" in audited.refused("recall", query="owl", formula="no.such@0123456789ab")


def test_the_schema_offers_no_formula_that_a_server_over_http_refuses(audited):
    described = {
        (tool.name, name): schema.get("description", "")
        for tool in audited.get("list_tools").tools
        for name, schema in tool.input_schema["properties"].items()
    }
    assert not [where for where, words in described.items() if "path" in words or "TOML" in words]
    assert "name@digest" in described["recall", "formula"]


def test_never_having_dreamt_is_not_a_position(connect, tmp_path):
    agent = connect(tmp_path / "store")
    assert agent.ok("status")["last_dream"] is None
    assert "last dream never" in agent.call("status").content[0].text


def test_of_many_memories_that_do_not_fit_the_first_are_named(audited):
    for number in range(25):
        audited.ok(
            "remember", content=f"pelican number {number}", id=f"pelican-{number:02}", project="pelicans"
        )
    result = audited.call("recall", query="pelican", project="pelicans", k=25, max_tokens=150)
    found = result.structured_content
    assert found["left_out"] == 25 - len(found["hits"])
    assert 0 < len(found["left_out_ids"]) < found["left_out"]
    rest = found["left_out"] - len(found["left_out_ids"])
    assert f"{found['left_out_ids'][-1]} and {rest} more" in result.content[0].text
    assert audited.ok("recall", query="pelican", project="pelicans", k=25, max_tokens=1)["left_out_ids"] == []


def test_a_recall_that_shall_write_nothing_writes_nothing(audited):
    audited.ok("remember", content="The parrot speaks Portuguese")
    audited.ok("recall", query="parrot")  # the first one ever also adopts the formula
    before = audited.ok("status")["head"]
    assert audited.ok("recall", query="parrot", record=False)["recall"] is None
    assert audited.ok("recall", query="parrot", at=f"@{before}")["recall"] is None
    assert audited.ok("status")["head"] == before
    assert audited.ok("recall", query="parrot", track=False)["recall"] == f"r{before + 1}"
    assert audited.ok("status")["head"] == before + 1


def test_a_budget_leaves_out_whole_memories_and_what_is_left_out_is_not_accessed(audited):
    ids = [
        audited.ok("remember", content=f"walrus {word} " + "blubber " * 20, project="zoo")["id"]
        for word in ("one", "two", "three")
    ]
    everything = audited.ok("recall", query="walrus", project="zoo", record=False)
    result = audited.call("recall", query="walrus", project="zoo", max_tokens=everything["tokens"] - 1)
    answer = result.structured_content
    assert [hit["id"] for hit in answer["hits"]] == [hit["id"] for hit in everything["hits"][:2]]
    forms = (result.content[0].text, json.dumps(answer, separators=(",", ":"), ensure_ascii=False))
    assert answer["tokens"] == max(math.ceil(len(form) / 4) for form in forms) < everything["tokens"]
    assert answer["left_out"] == 1
    assert answer["left_out_ids"] == [everything["hits"][2]["id"]]
    accessed = {id_: audited.ok("get", id=id_)["accesses"] for id_ in ids}
    assert accessed == {id_: int(id_ not in answer["left_out_ids"]) for id_ in ids}
    nothing = audited.call("recall", query="walrus", project="zoo", max_tokens=1)
    assert nothing.structured_content["left_out"] == 3
    assert "None of the 3 memories that match fits" in nothing.content[0].text


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("remember", {}, "remember needs 'content'"),
        ("remember", {"content": "  "}, "content is empty"),
        ("remember", {"content": "x", "importance": 2}, "importance is 2; it must be a number <= 1.0"),
        ("remember", {"content": "x", "at": "some day"}, "some day"),
        ("recall", {}, "recall needs 'query'"),
        ("recall", {"query": "x", "formula": "nonsense"}, "nonsense"),
        ("recall", {"query": "x", "at": "@999999"}, "@999999 is not in this log"),
        ("get", {"id": "nobody"}, "no memory has the id 'nobody'"),
        ("revise", {"id": "nobody", "content": "x"}, "no memory has the id 'nobody'"),
        ("revise", {"id": "nobody", "project": "p", "clear": ["project"]}, "set and to clear 'project'"),
        ("revise", {"id": "something", "project": "*"}, "'*' means all projects"),
        ("revise", {"id": "something", "clear": ["content"]}, "clear is ['content']; it must be one of project, source"),
        ("revise", {"id": "something", "clear": ["id"]}, "clear is ['id']; it must be one of project, source"),
        ("revise", {"id": "something", "clear": "kind"}, "clear is ['kind']; it must be one of project, source"),
        ("remember", {"content": "x", "project": "*"}, "'*' means all projects"),
        ("get", {"id": "something", "at": 2}, "at is 2; it must be text"),
        ("why", {"recall": "r1", "id": "x"}, "'r1' is not the id of a recorded recall; they look like"),
        ("forget", {"id": "nobody"}, "no memory has the id 'nobody'"),
        ("status", {"verbose": True}, "status has no argument 'verbose'"),
        ("why", {"recall": "r999999", "id": "x"}, "r999999"),
        ("why_not", {"recall": "twelve", "id": "x"}, "'twelve' is not the id of a recorded recall"),
        ("why_changed", {"query": "x", "id": "nobody", "since": "@1"}, "no memory has the id 'nobody'"),
        ("history", {"id": "nobody"}, "no memory has the id 'nobody'"),
        ("compare", {"formula": "nonsense"}, "nonsense"),
        ("verify", {"independent": "perhaps"}, "independent is 'perhaps'; it must be true or false"),
        ("dream", {"max_churn": 2}, "max_churn is 2; it must be a number <= 1.0"),
        ("rate", {"id": "nobody", "verdict": "helpful"}, "no memory has the id 'nobody'"),
        ("link", {"a": "x", "b": "x", "kind": "k"}, "name two memories"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_and_nothing_is_written(audited, tool, arguments, says):
    audited.ok("remember", content="There is something to be wrong about", id="something")
    before = audited.ok("status")["head"]
    assert says in audited.refused(tool, **arguments)
    assert audited.ok("status")["head"] == before


def test_a_ranking_is_explained_by_its_recall_id(audited):
    hit = audited.ok("remember", content="The tram to the harbour leaves at noon", project="tram")["id"]
    miss = audited.ok("remember", content="Bananas are yellow", project="fruit")["id"]
    recall = audited.ok("recall", query="when does the tram leave?", project="tram")["recall"]
    why = audited.ok("why", recall_id=recall, id=hit)
    assert (why["rank"], why["exact"], why["dropped_at"]) == (1, True, None)
    assert why["recall"] == recall
    assert any("tram" in channel["terms"] for channel in why["channels"])
    why_not = audited.ok("why_not", recall=recall, id=miss)
    assert why_not["rank"] is None
    assert why_not["dropped_at"]["reason"]


def test_a_change_of_rank_is_attributed(audited):
    since = audited.ok("status")["head"]
    memory = audited.ok("remember", content="The lighthouse keeper is called Ada")["id"]
    changed = audited.ok("why_changed", query="who keeps the lighthouse?", id=memory, since=f"@{since}")
    assert (changed["rank_since"], changed["cause"]) == (None, "edits")
    assert math.isclose(
        sum(part["score"] for part in changed["causes"]), changed["score_change"], rel_tol=1e-9
    )


def test_a_history_shows_the_last_events_and_counts_the_earlier_ones(audited):
    audited.ok("remember", content="The bridge is closed", id="bridge")
    audited.ok("rate", id="bridge", verdict="helpful")
    audited.ok("rate", id="bridge", verdict="outdated")
    whole = audited.ok("history", id="bridge")
    assert [event["type"] for event in whole["events"]] == ["memory.ingested", "memory.rated", "memory.rated"]
    last = audited.ok("history", id="bridge", last=1)
    assert (last["events"], last["earlier"]) == (whole["events"][-1:], 2)


def test_the_same_link_again_is_the_same_link(audited):
    a, b = (audited.ok("remember", content=text)["id"] for text in ("The weir is open", "The lock is full"))
    first = audited.ok("link", from_id=a, to_id=b, type="causes")
    assert first["seq"] < audited.ok("link", a=a, b=b, kind="causes", weight=2)["seq"]


def test_recorded_questions_are_verified_and_compared(audited):
    audited.ok("recall", query="anything at all")
    verified = audited.ok("verify")
    assert verified["exact"]
    assert verified["checked"] == audited.ok("status")["recalls"]
    compared = audited.ok("compare", formula="reverie", last=1)
    assert compared["questions"] == 1
    assert compared["after"].startswith("reverie@")
    assert "churn@5" in compared["metrics"]


def test_a_dream_can_be_previewed_and_written(audited):
    audited.ok("remember", content="Sheep are counted at night")
    before = audited.ok("status")["head"]
    assert not audited.ok("dream", dry_run=True)["committed"]
    assert audited.ok("status")["head"] == before
    assert audited.ok("dream")["committed"]
    assert audited.ok("status")["last_dream"] > before


def test_the_profiles_differ_by_the_audit_tools():
    assert list(tools_of("default")) == EVERY_SERVER
    assert list(tools_of("audit")) == EVERY_SERVER + AUDIT


def test_expectations_are_stated_listed_checked_and_withdrawn(audited):
    audited.ok("remember", content="The spare key hangs in the boiler room", id="key")
    recall = audited.ok("recall", query="where does the spare key hang?")["recall"]
    name = audited.ok("expect", recall=recall, id="key", first=True, note="the caretaker asks")["name"]
    listed = audited.ok("expectations")["expectations"]
    assert [(one["name"], one["expects"]) for one in listed] == [(name, "key first")]
    assert audited.ok("check")["failed"] == []
    forgotten = audited.ok("forget", id="key")["seq"]
    (failed,) = audited.ok("check")["failed"]
    assert (failed["name"], failed["broken_by"], failed["note"]) == (name, forgotten, "the caretaker asks")
    assert audited.ok("expectations", withdraw=name)["expectations"] == []
