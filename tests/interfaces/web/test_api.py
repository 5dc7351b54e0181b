"""The JSON API over a real server: what it answers, what it refuses, and that reading records nothing."""

from __future__ import annotations

import asyncio
import shutil
import signal
import threading
import time

import httpx
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.engine import show_recall
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.web.api_page import AskBars, bars
from recollect.web.app import application
from recollect.web.forms import Serving

QUESTION = "where are auth sessions stored?"


def test_status_tells_the_store_and_what_the_server_is(server):
    status = server.get("/api/status")
    assert status["memories"] == 5
    assert (status["read_only"], status["dream_every"], status["degraded"]) == (False, None, [])
    assert status["embedder"]["state"] == "ready"


def test_a_recall_that_is_got_records_nothing_and_one_that_is_posted_is_recorded(server):
    before = server.get("/api/status")
    seen = server.get("/api/recall", q=QUESTION, k=2)
    assert (seen["id"], seen["hits"][0]["id"]) == (None, "auth")
    hit = seen["hits"][0]
    assert hit["factors"]["lexical"] > 0
    told = (hit["kind"], hit["project"], hit["session"], hit["source"], hit["tags"], hit["revision"])
    assert told == ("note", None, None, None, [], 1)
    assert hit["at"].endswith("Z")
    assert server.get("/api/status")["head"] == before["head"]
    posted = server.send("POST", "/api/recall", {"q": QUESTION, "k": 2, "track": False})
    assert posted["id"] == f"r{before['head'] + 1}"
    assert server.get("/api/recalls", limit=1)["recalls"][0] | {"at": ""} == {
        "id": posted["id"], "at": "", "query": QUESTION, "basis": before["head"], "formula": posted["formula"],
        "k": 2, "hits": len(posted["hits"]), "best": "auth", "session": None, "degraded": [], "actor": "web",
        "filters": {},
    }  # fmt: skip


def test_a_recall_is_read_with_its_hits_as_recorded(server):
    posted = server.send("POST", "/api/recall", {"q": QUESTION, "k": 2, "kinds": ["note"], "session": "s9"})
    shown = server.get(f"/api/recalls/{posted['id']}")
    assert [(hit["id"], hit["score"]) for hit in shown["hits"]] == [
        (hit["id"], hit["score"]) for hit in posted["hits"]
    ]
    assert (shown["query"], shown["session"], shown["filters"]) == (QUESTION, "s9", {"kinds": ["note"]})
    assert shown["replayed"]["verdict"] == "exact"
    (found,) = server.get("/api/recalls", session="s9", grep="AUTH")["recalls"]
    assert found["id"] == posted["id"]


def test_a_question_is_asked_of_the_past(server):
    assert server.get("/api/recall", q=QUESTION, at="@2")["hits"][0]["id"] == "auth"
    assert server.get("/api/recall", q="redis rate limiting", at="@2")["basis"] == 2
    assert [h["id"] for h in server.get("/api/recall", q=QUESTION, at="@1")["hits"]] == []


def test_filters_and_formulas_of_a_question(server):
    assert server.get("/api/recall", q=QUESTION, kinds="decision")["hits"] == []
    other = server.get("/api/recall", q=QUESTION, formula="reverie")
    assert other["formula"].startswith("reverie@")
    again = server.get("/api/recall", q=QUESTION, formula=other["formula"], now=other["now"])
    assert again["hits"] == other["hits"]
    known = server.get("/api/formulas")
    assert "reverie" in known["built_in"]
    assert known["in_force"] in known["in_log"]


def test_a_question_brings_its_context(server):
    near = server.get("/api/recall", q=QUESTION, formula="omega", context='{"profile": "Decision"}')
    posted = {
        "q": QUESTION,
        "formula": "omega",
        "context": {"profile": "decision"},
        "now": near["now"],
        "track": False,
    }
    assert server.send("POST", "/api/recall", posted)["hits"] == near["hits"]
    for context, complaint in (
        ('{"profile": "decison"}', "did you mean 'decision'"),
        ('{"profil": 1}', "profil"),
        ("[]", "as JSON"),
    ):
        assert (
            complaint in server.get("/api/recall", 400, q=QUESTION, formula="omega", context=context)["error"]
        )


@pytest.mark.parametrize("name", ["/etc/passwd", "../mine.toml", "/tmp/x.toml", "reverie@000000000000"])
def test_a_formula_is_never_a_file_of_the_server(server, name):
    assert "is not known here" in server.get("/api/recall", 400, q="x", formula=name)["error"]
    assert "is not known here" in server.get("/api/compare", 400, a=name)["error"]


def test_why_why_not_and_explain(server):
    recall = server.get("/api/recalls")["recalls"][-1]["id"]
    why = server.get(f"/api/why/{recall}/auth")
    assert (why["rank"], why["exact"], why["recall"]) == (1, True, recall)
    assert [stage["number"] for stage in why["stages"]] == list(range(1, len(why["stages"]) + 1))
    lost = server.get(f"/api/why-not/{recall}/deploy")
    assert lost["dropped_at"]["reason"]
    asked = server.get("/api/explain", q=QUESTION, id="auth", at="@2")
    assert (asked["rank"], asked["recall"], asked["basis"]) == (1, None, 2)


def test_why_changed_and_compare(server):
    changed = server.get("/api/why-changed", q=QUESTION, id="auth", since="@2")
    assert changed["since"]["rank"] == 1
    assert changed["sentence"]
    compared = server.get("/api/compare", a="recollect", b="reverie", k=3)
    assert compared["questions"] >= 1
    assert "rbo@0.9" in compared["metrics"]


def test_memories_their_past_and_their_history(server):
    listed = server.get("/api/memories", limit=2)
    assert (listed["total"], [m["id"] for m in listed["memories"]]) == (5, ["html", "folder/notes.md#1"])
    rest = server.get("/api/memories", limit=3, before=listed["before"])
    assert ([m["id"] for m in rest["memories"]], rest["before"]) == (["deploy", "redis", "auth"], None)
    from_the_start = server.get("/api/memories", limit=2, offset=1)
    assert (from_the_start["total"], [m["id"] for m in from_the_start["memories"]]) == (
        5,
        ["redis", "deploy"],
    )
    assert server.get("/api/memories", at="@2")["total"] == 1
    slashed = server.get("/api/memories/folder%2Fnotes.md%231")
    assert slashed["content"] == "Session cookies expire after 14 days"
    assert server.get("/api/memories/folder/notes.md%231/history")[0]["type"] == "memory.ingested"


def test_the_timeline_is_paged_backwards_and_filtered(server):
    head = server.get("/api/status")["head"]
    seen, before = [], None
    while True:
        page = server.get("/api/timeline", limit=3, **({"before": before} if before else {}))
        seen += [event["seq"] for event in page["events"]]
        before = page["before"]
        if before is None:
            break
    assert seen == list(range(head, 0, -1))
    told = server.get("/api/timeline", type="memory.ingested")["events"]
    assert len(told) == 5
    redis = server.get("/api/timeline", memory="redis", type="memory.ingested")["events"]
    assert [event["seq"] for event in redis] == [3]
    assert server.get("/api/events/2")["event"]["summary"].startswith("remembered auth")
    assert server.get("/api/events/0")["event"] is None


def test_recalls_are_paged_newest_first(server):
    for _ in range(3):
        server.send("POST", "/api/recall", {"q": "redis"})
    everything = [r["id"] for r in server.get("/api/recalls", limit=1000)["recalls"]]
    assert everything == sorted(everything, key=lambda id_: -int(id_[1:]))
    first = server.get("/api/recalls", limit=2)
    second = server.get("/api/recalls", limit=1000, before=first["before"])
    assert [r["id"] for r in first["recalls"] + second["recalls"]] == everything
    assert second["before"] is None


def test_one_recall_or_all_are_verified(server):
    recall = server.get("/api/recalls")["recalls"][-1]["id"]
    checked = server.get(f"/api/verify/{recall}")
    assert (checked["exact"], checked["recall"]) == (True, recall)
    assert "replays exactly" in checked["sentence"]
    assert server.get("/api/verify")["exact"]


class NeverReady:
    """An embedder whose model loads, or fails, when it is told to."""

    name, dimensions = "never/1", 4

    def __init__(self) -> None:
        self.ready = False
        self.begun, self.fail = threading.Event(), threading.Event()

    def embed(self, texts):
        self.begun.set()
        assert self.fail.wait(120)
        raise RuntimeError("the weights are gone")


def test_while_the_model_loads_words_answer_and_a_model_that_failed_is_said(tmp_path):
    async def ask(serving: Serving, path: str = "/api/recall?q=apple") -> dict:
        async with AsyncMemory(memory, owner=False) as shared:
            transport = httpx.ASGITransport(application(shared, serving))
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                return (await client.get(path)).json()

    with Memory.open(tmp_path / "store", embedder=None) as words:
        words.remember("red apple", id="a")
    model = NeverReady()
    with Memory.open(tmp_path / "store", embedder=model) as memory:
        serving, begun = Serving(), model.begun
        loading = asyncio.run(ask(serving))
        assert [hit["id"] for hit in loading["hits"]] == ["a"]
        assert loading["degraded"] == ["vector: never/1 is still loading"]
        memory.warm()
        assert begun.wait(120)
        assert loading["degraded"][0] in asyncio.run(ask(serving, "/api/status"))["degraded"]
        model.fail.set()
        deadline = time.monotonic() + 120
        while "the weights are gone" not in str(failed := asyncio.run(ask(serving))["degraded"]):
            assert time.monotonic() < deadline
        status = asyncio.run(ask(serving, "/api/status"))["degraded"]
        assert failed[0] in status
        assert loading["degraded"][0] not in status


def test_a_recall_of_what_was_erased_says_so_instead_of_pretending(tmp_path):
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember_many([{"id": "a", "content": "red apple"}, {"id": "b", "content": "red brick"}])
        recall = memory.recall("red apple").id
        memory.erase("a", unattested=True)
        checked = show_recall.check(memory.store, recall)
        assert (checked.verdict, checked.exact, checked.redacted) == ("redacted", False, True)
        assert checked.sentence
        (page,) = memory.recalls(limit=5)
        assert page.id == recall


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/api/recall", 400, "/api/recall: it needs 'q'"),
        ("/api/recall?q=x&k=0", 400, "k is '0'; it must be a whole number >= 1"),
        ("/api/recall?q=x&k=many", 400, "k is 'many'; it must be a whole number"),
        ("/api/recall?q=x&q=y", 400, "got 'q' more than once"),
        ("/api/recall?q=x&top=3", 400, "no parameter 'top'; it takes q, k, now"),
        ("/api/recall?q=x&at=yesterday-ish", 400, "yesterday-ish"),
        ("/api/recall?q=x&at=@99999", 400, "@99999 is not in this log"),
        ("/api/memories/nobody", 404, "no memory has the id 'nobody'"),
        ("/api/memories/nobody/history", 404, "nobody"),
        ("/api/memories/auth?at=@1", 404, "as of @1"),
        ("/api/why/r99999/auth", 404, "r99999"),
        ("/api/why/auth/r1", 404, "not the id of a recorded recall"),
        ("/api/why-not/r%C2%B2/auth", 404, "not the id of a recorded recall"),
        ("/api/verify/nonsense", 404, "`recollect recalls` lists them"),
        ("/api/timeline?type=nothing", 400, "there is no event type 'nothing'"),
        ("/api/timeline?limit=0", 400, "limit"),
        ("/api/events/99999", 400, "@99999 is not in this log"),
        ("/api/nothing", 404, "there is nothing at /api/nothing"),
        ("/api/why-changed?q=x&id=auth&since=@3&until=@2", 400, "swap them"),
    ],
)
def test_bad_questions_get_the_message_and_its_status(server, path, status, says):
    assert says in server.get(path, status)["error"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("POST", "/api/remember", {}, 400, "no content"),
        ("POST", "/api/remember", {"content": "  "}, 400, "content is empty"),
        ("POST", "/api/remember", {"content": "x", "importance": 2}, 400, "importance is 2"),
        ("POST", "/api/remember", {"text": "x"}, 400, "no argument 'text'"),
        ("POST", "/api/remember", ["x"], 400, "not a JSON object"),
        ("PATCH", "/api/memories/auth", {}, 400, "names nothing to change"),
        ("PATCH", "/api/memories/auth", {"id": "other"}, 400, "no argument 'id'"),
        ("PATCH", "/api/memories/nobody", {"content": "x"}, 404, "nobody"),
        ("POST", "/api/memories/nobody/forget", {}, 404, "nobody"),
        ("POST", "/api/memories/auth/restore", {}, 400, "nothing to restore"),
        ("POST", "/api/memories/auth/forget", {"why": "x"}, 400, "it takes reason"),
        ("POST", "/api/recall", {"query": "x"}, 400, "no parameter 'query'"),
        ("POST", "/api/recall", {"q": "x", "at": "@2"}, 400, "no parameter 'at'"),
        ("POST", "/api/recall", {"q": "x", "track": "yes"}, 400, "track is 'yes'; it must be true or false"),
        ("POST", "/api/recall", {"q": 5}, 400, "q is 5; it must be text"),
        ("DELETE", "/api/memories/auth", {}, 405, "does not take DELETE"),
    ],
)
def test_bad_writes_are_refused_and_leave_nothing_behind(server, method, path, body, status, says):
    head = server.get("/api/status")["head"]
    assert says in server.send(method, path, body, status)["error"]
    assert server.get("/api/status")["head"] == head


def test_a_body_must_be_json_and_say_so(server):
    plain = server.client.post(
        "/api/remember", content='{"content": "x"}', headers={"Content-Type": "text/plain"}
    )
    assert (plain.status_code, "application/json" in plain.json()["error"]) == (415, True)
    broken = server.client.post("/api/remember", content="{", headers={"Content-Type": "application/json"})
    assert (broken.status_code, "not a JSON object" in broken.json()["error"]) == (400, True)
    large = server.client.post("/api/remember", json={"content": "x" * 2_000_001})
    assert large.status_code == 413


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_FIELD = st.sampled_from(
    ["content", "id", "kind", "tags", "at", "importance", "priority", "session", "self", "q", "k"]
)


@settings(max_examples=60)
@given(
    body=st.dictionaries(_FIELD | st.text(max_size=5), _JSON, max_size=4),
    target=st.sampled_from(
        [
            ("PATCH", "/api/memories/nobody"),
            ("POST", "/api/memories/nobody/forget"),
            ("POST", "/api/recall"),
            ("POST", "/api/remember"),
        ]
    ),
)
def test_no_body_makes_the_server_fail(ask, body, target):
    response = ask(*target, json=body)
    assert response.status_code < 500, response.text
    assert response.status_code < 400 or response.json()["error"]


def test_memories_are_told_revised_forgotten_and_restored_and_the_store_is_closed_cleanly(start, tmp_path):
    server = start()
    new = server.send(
        "POST", "/api/remember", {"content": "Lunch is at noon", "id": "a/b", "tags": ["x"]}, 201
    )
    assert (new["id"], new["head"]) == ("a/b", server.get("/api/status")["head"])
    assert (
        server.send("PATCH", "/api/memories/a%2Fb", {"content": "Lunch is at one"})["revision_count"] == 1 + 1
    )
    assert server.send("POST", "/api/memories/a%2Fb/forget", {"reason": "moved"})["seq"] == new["head"] + 2
    assert not server.get("/api/memories/a%2Fb")["visible"]
    assert server.send("POST", "/api/memories/a%2Fb/restore", {})["id"] == "a/b"
    assert server.get("/api/recall", q="when is lunch?")["hits"][0]["content"] == "Lunch is at one"
    head = server.get("/api/status")["head"]
    assert server.stop() == (0, f"recollect: stopped; the store is closed, its head is @{head}\n")
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        assert memory.status().head == head
        assert memory.verify().exact
        assert {event.actor for event in memory.history("a/b")} == {"web"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/recall"),
        ("POST", "/api/remember"),
        ("PATCH", "/api/memories/auth"),
        ("POST", "/api/memories/auth/forget"),
    ],
)
def test_a_read_only_server_answers_and_writes_nothing(ask, method, path):
    head = ask("GET", "/api/status").json()["head"]
    refused = ask(method, path, json={"content": "x"}, read_only=True)
    assert (refused.status_code, "read-only" in refused.json()["error"]) == (403, True)
    assert ask("GET", "/api/recall", params={"q": QUESTION}, read_only=True).json()["hits"]
    status = ask("GET", "/api/status", read_only=True).json()
    assert (status["head"], status["read_only"]) == (head, True)


def test_a_token_guards_the_data_and_not_the_page_dreams_come_due_and_sigterm_ends_cleanly(start):
    server = start("--token", "secret", "--read-token", "reads", "--dream-every", "1s")
    assert server.address["page"] == server.address["url"] + "/#token=secret"
    assert "Bearer" in server.get("/api/status", 401)["error"]
    assert server.client.post("/mcp", json={}).status_code == 401
    assert server.client.get("/").status_code == 200
    server.client.headers["Authorization"] = "Bearer reads"
    assert server.get("/api/status")["read_only"]
    for path, value in (
        ("/api/remember", {"content": "x"}),
        ("/api/recall", {"q": "x"}),
        ("/api/dreams", {}),
        ("/mcp", {}),
    ):
        assert "may read this store" in server.send("POST", path, value, 403)["error"]
    server.client.headers["Authorization"] = "Bearer secret"
    assert server.get("/api/status")["dream_every"] == "1s"
    assert server.client.get("/api/status", headers={"Host": "evil.example"}).status_code == 421
    assert server.client.get("/api/status", headers={"Origin": "https://evil.example"}).status_code == 403
    deadline = time.monotonic() + 120
    while not server.get("/api/status")["last_dream"]:
        assert time.monotonic() < deadline, "no dream came"
        time.sleep(0.05)
    bearer = {"Authorization": "Bearer secret"}
    stream = f"{server.address['url']}/api/stream"
    assert "no parameter 'x'" in server.get("/api/stream?x=1", 400)["error"]
    with httpx.stream("GET", stream, headers=bearer, timeout=120) as open_page:
        assert next(open_page.iter_lines()) == "event: head"
        code, errors = server.stop(signal.SIGTERM)
    assert (code, errors.startswith("recollect: stopped; the store is closed")) == (0, True), errors


def test_an_agent_reaches_the_same_store_at_mcp(server):
    from mcp import Client

    async def main() -> str:
        async with Client(server.address["mcp"]) as client:
            told = await client.call_tool("get", {"id": "auth"})
            return told.content[0].text

    assert "Postgres" in asyncio.run(main())


def test_the_tools_at_mcp_are_those_of_the_profile_that_was_asked_for(server, start):
    from mcp import Client

    async def names(address: str) -> set[str]:
        async with Client(address) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    with_audit = asyncio.run(names(start("--profile", "audit").address["mcp"]))
    without = asyncio.run(names(server.address["mcp"]))
    assert {"recent", "used", "why"} <= without < with_audit
    assert "verify" in with_audit - without


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "0.0.0.0"], "a token is needed"),
        (["--host", "nowhere.invalid"], "'nowhere.invalid' is not an address of this machine"),
        (["--dream-every", "soon"], "'soon' is not an interval"),
        (["--token", "two words"], "without spaces"),
    ],
)
def test_a_server_that_cannot_start_says_why_in_one_line(tmp_path, options, says):
    result = CliRunner().invoke(
        main, ["serve", "--store", str(tmp_path), "--embedder", "hash", "--port", "0", *options]
    )
    assert result.exit_code == 2
    assert result.stderr.startswith("recollect: ")
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_port_that_is_none_is_refused_by_name(tmp_path):
    result = CliRunner().invoke(main, ["serve", "--store", str(tmp_path), "--port", "70000"])
    assert result.exit_code == 2
    assert "'--port': 70000 is not in the range" in result.stderr


def test_a_taken_port_is_one_clear_line(server, tmp_path):
    taken = ["serve", "--store", str(tmp_path), "--embedder", "hash", "--port", str(server.address["port"])]
    result = CliRunner().invoke(main, taken)
    assert (result.exit_code, "choose another --port" in result.stderr) == (2, True)


@pytest.mark.parametrize("levels", [65, 900, 990, 1_000, 100_000])
@pytest.mark.parametrize("nested", [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
def test_a_deeply_nested_body_is_a_bad_request(ask, levels, nested):
    opens, closes = nested
    for path in ("/api/recall", "/api/remember"):
        body = (
            '{"q": "tea", "content": '
            + opens * levels
            + ("1" if opens != "[" else "")
            + closes * levels
            + "}"
        )
        response = ask("POST", path, content=body.encode(), headers={"Content-Type": "application/json"})
        assert response.status_code == 400
        assert "nested deeper than" in response.json()["error"]


def test_a_wrong_value_is_not_sent_back_whole(ask):
    response = ask("POST", "/api/recall", json={"q": ["x" * 100_000]})
    assert response.status_code == 400
    assert len(response.content) < 1_000


def test_expectations_are_stated_listed_checked_and_withdrawn(server):
    recall = server.send("POST", "/api/recall", {"q": QUESTION})["id"]
    stated = server.send(
        "POST", "/api/expectations", {"recall": recall, "id": "auth", "first": True}, expect=201
    )
    assert [one["name"] for one in server.get("/api/expectations")] == [stated["id"]]
    assert [one["held"] for one in server.get("/api/check")["passed"]] == [True]
    broken = server.send("POST", "/api/memories/auth/forget", {})["seq"]
    assert server.get("/api/check")["failed"][0]["broken_by"] == broken
    assert server.get("/api/check", at=f"@{broken - 1}")["failed"] == []
    server.send("POST", f"/api/expectations/{stated['id']}/withdraw", {})
    assert server.get("/api/expectations") == []


class Other:
    """Another embedder than the store began with."""

    name, dimensions = "other/1", 8

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[1.0 + text.count(letter) for letter in "aeiounst"] for text in texts]


def test_a_recorded_recall_is_asked_at_another_moment_as_any_question_is(tmp_path):
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        texts = "sessions live in Postgres", "Redis is for rate limits", "where we deploy", "auth is stored"
        memory.remember_many([{"content": text} for text in texts])
        memory.dream()
        first = memory.recall(QUESTION, k=3, session="monday").id
        recall = memory.recall("redis rate limits", k=3, session="monday").id
        memory.reembed(Other())
    with Memory.open(tmp_path / "store", embedder=Other()) as memory:
        (dream,) = memory.store.projections.adoptions.dreams
        moments = [None, f"@{dream.began}", first, recall, f"@{memory.store.log.head}"]
        for at in moments:
            for formula in (None, "engram", "reverie"):
                made = bars(memory, AskBars(recall=recall, at=at, formula=formula), None)
                again = memory.at(at or recall).recall(recall, now=made.now, formula=formula)
                assert [(bar.id, bar.score) for bar in made.hits] == [
                    (hit.id, hit.score) for hit in again.hits
                ]
                assert (made.recall, made.basis, len(made.hits) > 0) == (recall, again.basis, True)
        assert bars(memory, AskBars(recall=recall), None).exact


def test_an_id_that_a_path_cannot_hold_is_given_as_a_parameter(start):
    server = start()
    for id_ in ("x", "x/history", "..", "@3"):
        server.send("POST", "/api/remember", {"id": id_, "content": f"what {id_} says"}, 201)
    recall = server.send("POST", "/api/recall", {"q": "what x/history says"})["id"]
    for id_ in ("x", "x/history", "..", "@3"):
        assert server.get("/api/memories/-", id=id_)["content"] == f"what {id_} says"
        assert server.get("/api/memories/-/history", id=id_)[0]["type"] == "memory.ingested"
        assert server.get("/api/show/-", id=id_)["content"] == f"what {id_} says"
        assert server.get(f"/api/why/{recall}/-", id=id_)["id"] == id_
        assert server.get("/api/impact/-", id=id_)["id"] == id_
    assert server.get("/api/show/@3")["thing"] == "event"
    assert server.get("/api/memories/-", 404, id="-")["code"] == "unknown_memory"


def test_interrupts_that_follow_the_first_change_nothing_until_the_process_has_ended(start):
    server = start()
    head = server.get("/api/status")["head"]
    while server.process.poll() is None:
        server.process.send_signal(signal.SIGINT)
        time.sleep(0.001)
    assert server.stop() == (0, f"recollect: stopped; the store is closed, its head is @{head}\n")


def test_a_formula_that_is_tried_is_kept_nowhere_and_one_that_is_adopted_is_in_force(start):
    server = start()
    head = server.get("/api/status")["head"]
    text = server.get("/api/formulas/reverie")["text"]
    tried = server.send("POST", "/api/bars", {"q": QUESTION, "text": text, "now": "2026-11-30"})
    named = server.get("/api/bars", q=QUESTION, formula="reverie", now="2026-11-30")
    assert [(bar["id"], bar["score"]) for bar in tried["hits"]] == [
        (bar["id"], bar["score"]) for bar in named["hits"]
    ]
    assert server.send("POST", "/api/formulas/compare", {"text": text})["questions"] >= 1
    refused = server.send("POST", "/api/bars", {"q": QUESTION, "text": "/etc/passwd"}, expect=400)
    assert "passwd" not in refused["error"] or "TOML" in refused["error"]
    assert server.get("/api/status")["head"] == head
    adopted = server.send("POST", "/api/formulas/adopt", {"text": text})["formula"]
    assert adopted == server.get("/api/status")["formula"] == server.get("/api/formulas")["in_force"]
    assert server.get("/api/verify")["verdict"] == "exact"


def test_many_recalls_are_checked_at_once_within_bounds(server):
    recalls = [one["id"] for one in server.get("/api/recalls")["recalls"]][:2]
    assert server.get("/api/verdicts", recalls=recalls) == [
        server.get(f"/api/verify/{one}") for one in recalls
    ]
    assert server.get("/api/verdicts", expect=400)["field"] == "recalls"
    assert server.get("/api/verdicts", expect=400, recalls=["r1"] * 101)["code"] == "invalid_input"


def test_each_recall_of_a_batch_gets_its_own_verdict_or_why_it_has_none(server):
    (first, *_) = (one["id"] for one in server.get("/api/recalls")["recalls"])
    asked = ["r99999", first, "no recall", "r1"]
    found = server.get("/api/verdicts", recalls=asked)
    assert [(one["recall"], one["verdict"]) for one in found] == list(
        zip(asked, ["unknown", "exact", "unknown", "unknown"], strict=True)
    )
    for one in found[::2]:
        assert repr(one["recall"]) in one["sentence"]
        assert "\n" not in one["sentence"]
    deep = '{"stages":' + "[" * 10_000 + "]" * 10_000 + "}"
    assert "no JSON object" in server.send("POST", "/api/formulas/check", {"text": deep}, expect=400)["error"]


def test_a_server_whose_store_was_put_back_from_a_backup_refuses_to_answer_from_the_old_files(
    start, tmp_path
):
    running = start("--read-only")
    shutil.copytree(tmp_path / "store", tmp_path / "backup")
    (tmp_path / "store").rename(tmp_path / "broken")
    (tmp_path / "backup").rename(tmp_path / "store")
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.erase("auth")
    for path in ("/api/recall?q=auth", "/api/memories/auth", "/api/memories", "/api/status", "/api/verify"):
        assert "replaced or removed" in running.get(path, expect=503)["error"], path
