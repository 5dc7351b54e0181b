"""Find the memories that were injected into a session's prompts and not revised since."""

from __future__ import annotations

from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.events.facts import Accessed, Ingested, Revised

_RECENT_RECORDS = 512
_EVENTS_OF_ONE = 50
_EVENTS_MAX = 2_000


@locked
def given_to(store: Store, session: str) -> tuple[str, ...]:
    """The ids, in the order in which they were last given.

    Only recent accesses and what the session's recalls returned are searched, so a long log costs no more.
    """
    view = store.view()
    touched = view.lifecycle.recent_access(view.seq, _RECENT_RECORDS).memories.tolist()
    seqs: set[int] = set()
    for memory in {*touched, *view.sessions.told(session, view.seq).tolist()}:
        seqs.update(view.lifecycle.history(memory)[-_EVENTS_OF_ONE:])
    given: dict[str, None] = {}
    for seq in sorted(seqs)[-_EVENTS_MAX:]:
        match store.event(seq).fact:
            case Accessed(how="injected", session=by, ids=ids) if by == session:
                given = {id_: None for id_ in given if id_ not in ids} | dict.fromkeys(ids)
            case Revised(id=id_) | Ingested(id=id_):
                given.pop(id_, None)
            case _:
                pass
    return tuple(given)
