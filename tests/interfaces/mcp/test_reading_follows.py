"""What an agent read over MCP belongs to its recall: in a closed-loop fork it follows the new answer."""

from __future__ import annotations

from recollect.events.facts import Accessed, Recalled
from recollect.interfaces.mcp import tool_arguments, tools
from recollect.interfaces.mcp.tool import Call


def facts(memory, kind):
    return [(event.seq, event.fact) for event in memory.store.log.read(0) if isinstance(event.fact, kind)]


def test_accesses_name_their_recall_and_follow_it_into_a_fork(open_memory, tmp_path):
    memory = open_memory(formula="reverie")
    for i in range(12):
        text = f"auth sessions {'postgres ' * (i % 4)} redis {i} " + "x " * (i * 3)
        memory.remember(text, id=f"m{i}", importance=(i % 10) / 10)
    for query in ("auth postgres", "redis sessions", "auth"):
        tools.recall(memory, tool_arguments.Recall(query=query, k=3), Call())
    recalls = [seq for seq, _ in facts(memory, Recalled)]
    assert [fact.recall for _, fact in facts(memory, Accessed)] == recalls
    report = memory.fork(tmp_path / "fork", formula="mnemosyne", closed_loop=True)
    assert report.recalls == len(recalls)
    assert report.recalls_changed > 0
    assert report.accesses_changed == report.recalls_changed
    fork = open_memory("fork")
    answers = {seq: recalled.ids for seq, recalled in facts(fork, Recalled)}
    assert [fact.ids for _, fact in facts(fork, Accessed)] == list(answers.values())
