"""sessions: what each session was told by any seq, and by which formula last."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import log_of, logs

from recollect.events.envelope import Recorded
from recollect.events.facts import Ingested, Question, Recalled
from recollect.projections.documents import Documents
from recollect.projections.sessions import Sessions


class Folded:
    """Documents and sessions over one log."""

    def __init__(self, log: list[Recorded]) -> None:
        self.documents = Documents()
        self.sessions = Sessions(self.documents)
        for recorded in log:
            self.documents.apply(recorded)
            self.sessions.apply(recorded)

    def told(self, session: str, seq: int) -> set[str]:
        ids = self.documents.ids.values
        memories = np.arange(len(ids))
        return {
            ids[m] for m in memories[self.sessions.returned(session, memories, seq)] if self.born(int(m), seq)
        }

    def born(self, memory: int, seq: int) -> bool:
        return self.documents.newest_row(memory, seq) >= 0


def recalled(session: str | None, *ids: str, formula: str = "f") -> Recalled:
    question = Question(text="x", now=0, session=session)
    return Recalled(question=question, basis=0, formula=formula, ids=ids, scores=(1.0,) * len(ids))


BORN = [Ingested(id=id_, content="x", at=0) for id_ in ("a", "b", "c")]


def test_a_session_was_told_what_its_recalls_returned_by_then():
    log = log_of(*BORN, recalled("s", "a"), recalled("t", "b"), recalled("s", "c", "a"), recalled(None, "b"))
    folded = Folded(log)
    assert [folded.told("s", seq) for seq in (3, 4, 5, 6, 7)] == [set(), {"a"}, {"a"}, {"a", "c"}, {"a", "c"}]
    assert folded.told("t", 7) == {"b"}
    assert folded.told("nobody", 7) == set()


def test_an_id_that_did_not_exist_is_left_out():
    assert Folded(log_of(*BORN, recalled("s", "ghost", "b"))).told("s", 4) == {"b"}


def test_the_last_recall_is_that_of_the_formula_at_or_before_the_seq():
    log = log_of(
        *BORN, recalled("s", formula="f"), recalled("s", "a", formula="g"), recalled("t", formula="f")
    )
    sessions = Folded(log).sessions
    assert [sessions.last_recall("s", "f", seq) for seq in (3, 4, 6)] == [0, 4, 4]
    assert [sessions.last_recall("s", "g", seq) for seq in (4, 5)] == [0, 5]
    assert sessions.last_recall("s", "h", 6) == 0
    assert sessions.last_recall("nobody", "f", 6) == 0


@settings(max_examples=80)
@given(log=logs(), data=st.data())
def test_the_past_is_the_same_from_a_prefix_and_through_a_checkpoint(log: list[Recorded], data):
    seq, cut = (data.draw(st.integers(0, len(log))) for _ in range(2))
    whole, prefix = Folded(log), Folded(log[:seq])
    again = Folded(log[:cut])
    state = {key: np.array(v) if isinstance(v, np.ndarray) else v for key, v in again.sessions.dump().items()}
    again.sessions = Sessions(again.documents)
    again.sessions.load(state)
    for recorded in log[cut:]:
        again.documents.apply(recorded)
        again.sessions.apply(recorded)
    for session in ("s0", "s1", "s2"):
        assert whole.told(session, seq) == prefix.told(session, seq) == again.told(session, seq)
        last = whole.sessions.last_recall(session, "f0", seq)
        assert last == prefix.sessions.last_recall(session, "f0", seq)
        assert last == again.sessions.last_recall(session, "f0", seq)
