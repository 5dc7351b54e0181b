"""A verdict that never flatters: what is attested, redacted, not here or different is said, before and after erasures."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import msgspec
import pytest
from store_fixtures import Ticking

from recollect.engine.show_recall import check, show_recall, verdicts
from recollect.events.envelope import encode
from recollect.events.errors import InvalidInput
from recollect.events.facts import (
    Attested,
    Erased,
    Forgotten,
    FormulaAdopted,
    Question,
    Recalled,
    RedactedPayload,
)
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]
DAY = 86_400 * 1_000_000
TEXTS = {
    "a": "deploys happen on tuesday",
    "b": "deploys happen on friday",
    "c": "deploys are fun",
    "d": "cats sleep",
}


@pytest.fixture
def memory(open_memory: Open) -> Memory:
    opened = open_memory()
    for id_, text in TEXTS.items():
        opened.remember(text, id=id_)
    return opened


def recorded(memory: Memory, recall: str | None) -> Recalled:
    assert recall is not None
    fact = memory.store.event(int(recall[1:])).fact
    assert isinstance(fact, Recalled)
    return fact


def forge(memory: Memory, recall: str | None, **changes: object) -> str:
    fact = recorded(memory, recall)
    given = changes or {"ids": fact.ids[::-1], "scores": fact.scores[::-1]}
    (seq,) = memory.store.append([msgspec.structs.replace(fact, **given)])
    return f"r{seq}"


def last_attested(memory: Memory) -> Attested:
    facts = [event.fact for event in memory.store.log.read()]
    return [fact for fact in facts if isinstance(fact, Attested)][-1]


def counts(memory: Memory) -> tuple[str, int, int, int, int, int]:
    report = memory.verify()
    assert report.exact is (report.verdict == "exact")
    told = (report.exact_count, report.attested, report.redacted, report.not_here, report.different)
    assert sum(told) == report.checked
    assert report.different == len(report.differences)
    return report.verdict, *told


def test_a_store_that_nothing_happened_to_is_exact(memory: Memory):
    assert counts(memory) == ("exact", 0, 0, 0, 0, 0)
    memory.recall("deploys tuesday")
    assert counts(memory) == ("exact", 1, 0, 0, 0, 0)


@pytest.mark.parametrize("formula", ["mnemosyne", "recollect", "reverie", "omega", "engram", "memorysync"])
@pytest.mark.parametrize("gone", ["c", "d"])
def test_a_forged_recall_is_different_before_and_after_something_is_erased(
    memory: Memory, formula: str, gone: str
):
    answer = memory.recall("deploys tuesday", formula=formula, track=False)
    forged = forge(memory, answer.id, ids=("b", "a"), scores=(99.0, 98.0))
    assert counts(memory) == ("differs", 1, 0, 0, 0, 1)
    report = memory.erase(gone)
    assert report.different in {(forged,), ()}
    after = memory.verify()
    assert (after.verdict, [one.recall for one in after.differences]) == ("differs", [forged])


def test_an_erasure_attests_what_it_makes_unverifiable_in_one_append_with_it(memory: Memory):
    first = memory.recall("deploys tuesday", track=False)
    forged = forge(memory, first.id)
    head = memory.status().head
    report = memory.erase("a")
    facts = [type(event.fact) for event in memory.store.log.read(head)]
    assert facts == [Attested, Erased]
    attested = last_attested(memory)
    lines = f"{first.id} exact\n{forged} different\n"
    assert attested == Attested(
        upto=head,
        recalls=2,
        digest=sha256(lines.encode()).hexdigest(),
        spans=((int(first.id[1:]), int(forged[1:])),),
        different=(int(forged[1:]),),
    )
    assert (report.attested, report.different, report.unattested) == (2, (forged,), 0)
    assert counts(memory) == ("differs", 0, 1, 0, 0, 1)


def test_recalls_that_were_exact_at_the_erasure_are_attested_and_later_ones_exact(memory: Memory):
    memory.recall("deploys tuesday")
    memory.recall("cats")
    memory.erase("a")
    memory.recall("deploys friday")
    assert counts(memory) == ("attested", 1, 2, 0, 0, 0)
    assert memory.erase("b").attested == 1  # what is attested already is not ranked again
    assert counts(memory) == ("attested", 0, 3, 0, 0, 0)


def test_one_recall_is_checked_without_looking_through_the_log_for_attestations(
    memory: Memory, open_memory: Open, monkeypatch: pytest.MonkeyPatch
):
    answer = memory.recall("deploys tuesday")
    memory.erase("a")
    memory.store.checkpoint()
    memory.close()
    again = open_memory()
    monkeypatch.setattr(SegmentLog, "positions", lambda *_: pytest.fail("looked through the log"))
    monkeypatch.setattr(SegmentLog, "read", lambda *_: pytest.fail("read the log"))
    assert check(again.store, answer.id).verdict == "attested"


def test_an_erasure_without_attestation_says_so_and_the_verdict_is_partly(memory: Memory):
    memory.recall("deploys tuesday")
    assert memory.erase("a", dry_run=True).attested == 1
    report = memory.erase("a", unattested=True)
    assert (report.attested, report.unattested) == (0, 1)
    assert counts(memory) == ("partly", 0, 0, 1, 0, 0)
    assert memory.erase("b").attested == 0  # too late: it cannot be ranked again any more
    assert counts(memory) == ("partly", 0, 0, 1, 0, 0)


def test_a_recall_forged_after_the_erasure_is_neither_exact_nor_attested(memory: Memory):
    answer = memory.recall("deploys tuesday", track=False)
    memory.erase("a")
    forge(memory, answer.id)
    assert counts(memory)[0] == "partly"
    forge(memory, answer.id, ids=("nobody",), scores=(1.0,))
    assert counts(memory) == ("differs", 0, 1, 1, 0, 1)


def test_attesting_on_request_keeps_what_was_found_and_writes_nothing_twice(memory: Memory):
    first = memory.recall("deploys tuesday", track=False)
    forged = forge(memory, first.id)
    assert memory.verify().attested_at is None
    head = memory.status().head
    report = memory.verify(attest=True)
    assert (report.verdict, report.attested_at, memory.status().head) == ("differs", head + 1, head + 1)
    attested = last_attested(memory)
    assert (attested.upto, attested.recalls, attested.different) == (head, 2, (int(forged[1:]),))
    assert memory.verify(attest=True).attested_at is None
    later = memory.recall("deploys friday", track=False)
    memory.verify(attest=True)
    assert last_attested(memory).spans == ((int(later.id[1:]),) * 2,)
    with pytest.raises(InvalidInput, match="independent"):
        memory.verify(attest=True, independent=True)


def test_an_attestation_is_not_believed_about_what_can_still_be_ranked_again(memory: Memory):
    answer = memory.recall("deploys tuesday", track=False)
    seq = int(forge(memory, answer.id)[1:])
    digest = sha256(f"r{seq} exact\n".encode()).hexdigest()
    memory.store.append([Attested(upto=seq, recalls=1, digest=digest, spans=((seq, seq),))])
    assert counts(memory) == ("differs", 1, 0, 0, 0, 1)


def attest_as_exact(memory: Memory, recall: str) -> None:
    """A forged attestation, as a writer with access to the log could append it."""
    seq = int(recall[1:])
    digest = sha256(f"r{seq} exact\n".encode()).hexdigest()
    memory.store.append([Attested(upto=seq, recalls=1, digest=digest, spans=((seq, seq),))])


def test_an_erasure_refutes_a_forged_attestation_before_it_hides_what_it_is_about(memory: Memory):
    forged = forge(memory, memory.recall("deploys tuesday", track=False).id)
    attest_as_exact(memory, forged)
    assert memory.erase("c").different == (forged,)
    assert counts(memory) == ("differs", 0, 1, 0, 0, 1)


def test_retention_refutes_a_forged_attestation_before_it_hides_what_it_is_about(
    memory: Memory, clock: Ticking
):
    forged = forge(memory, memory.recall("deploys tuesday", track=False).id)
    attest_as_exact(memory, forged)
    clock.now += 2 * DAY
    report = memory.retain(recalls="1d")
    assert (report.recalls, report.attested, report.different, report.unattested) == (2, 2, (forged,), 0)
    assert counts(memory) == ("differs", 0, 1, 0, 0, 1)


def test_an_erasure_ranks_what_is_attested_again_and_attests_it_once(memory: Memory):
    memory.recall("deploys tuesday", track=False)
    at = memory.verify(attest=True).attested_at
    assert memory.erase("c").attested == 0
    assert memory.erase("b").attested == 0
    assert memory.store.log.positions("log.attested") == [at]
    assert counts(memory) == ("attested", 0, 1, 0, 0, 0)


def test_an_attestation_written_after_the_erasure_vouches_for_nothing_that_it_hid(memory: Memory):
    answer = memory.recall("deploys tuesday", track=False)
    memory.erase("c")
    attest_as_exact(memory, forge(memory, answer.id))
    assert counts(memory) == ("differs", 0, 1, 0, 0, 1)


def without_words(fact: Recalled) -> bytes:
    return encode(
        Recalled(question=Question(text="", now=0), basis=fact.basis, formula="", ids=(), scores=())
    )


@pytest.mark.parametrize(
    ("remains", "version"),
    [
        (without_words, 1),
        (lambda _: encode(Forgotten(id="d")), 1),
        (lambda _: b"\xff\xff", 1),
        (without_words, 99),
    ],
    ids=["its numbers", "another type", "garbage", "a version that is not known"],
)
def test_a_forged_recall_whose_payload_is_erased_by_hand_stays_counted_and_unverified(
    memory: Memory, remains: Callable[[Recalled], bytes], version: int
):
    answer = memory.recall("deploys tuesday", track=False)
    forged = forge(memory, answer.id)
    left = remains(recorded(memory, forged))
    seq = int(forged[1:])
    gone = RedactedPayload(seq=seq, payload=left, version=version)
    memory.store.append([Erased(id="", seqs=(seq,), remains=(gone,))])
    attest_as_exact(memory, forged)
    newer = version > 1
    assert counts(memory) == ("partly", 1, 0, int(not newer), int(newer), 0)


@pytest.mark.parametrize(
    "change",
    [
        {"basis": 10**6},
        {"basis": -5},
        {"scores": (1.0,)},
        {"formula": "no formula"},
        {"question": Question(text="deploys tuesday", now=0, vector=b"odd")},
        {"question": Question(text="deploys tuesday", now=0, vector=b"")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_recall_that_cannot_have_been_recorded_is_different_and_ends_no_verification(
    memory: Memory, change: dict[str, object]
):
    forge(memory, memory.recall("deploys tuesday", track=False).id, **change)
    assert counts(memory) == ("differs", 1, 0, 0, 0, 1)
    assert memory.verify(independent=True).different == 1
    memory.erase("c")
    assert memory.verify().verdict == "differs"


@pytest.mark.parametrize("text", ["not a formula", "{}", None])
def test_a_formula_is_the_one_of_its_digest_or_its_recalls_are_different(memory: Memory, text: str | None):
    answer = memory.recall("deploys tuesday", track=False)
    memory.store.catch_up()
    used = memory.store.projections.adoptions.formulas[recorded(memory, answer.id).formula]
    memory.store.append([FormulaAdopted(name="other", digest="f" * 64, text=text or used, in_force=False)])
    forge(memory, answer.id, formula="f" * 64)
    assert counts(memory) == ("differs", 1, 0, 0, 0, 1)


UNRANKABLE = {
    "nested too deeply to be decoded": '{"stages":' + "[" * 100_000 + "]" * 100_000 + "}",
    "a channel that is not here": '{"name":"n","stages":[{"op":"retrieve","channel":"smell"}]}',
    "an analyzer that is not here": '{"name":"n","stages":[{"op":"retrieve","channel":"lexical","analyzer":"elvish/9"}]}',
    "a classifier that is not here": '{"name":"n","dials":[{"name":"d","select":"text","classifier":"mood","table":{}}],'
    '"stages":[{"op":"retrieve","channel":"lexical"}]}',
}


@pytest.mark.parametrize("text", UNRANKABLE.values(), ids=UNRANKABLE)
def test_a_recall_whose_formula_can_rank_nothing_is_told_and_the_others_are_checked(
    memory: Memory, open_memory: Open, text: str
):
    answer = memory.recall("deploys tuesday", track=False)
    digest = sha256(text.encode()).hexdigest()
    memory.store.append([FormulaAdopted(name="n", digest=digest, text=text, in_force=False)])
    forged = forge(memory, answer.id, formula=digest)
    for independent in (False, True):
        report = memory.verify(independent=independent)
        assert (report.exact_count, [one.recall for one in report.differences]) == (1, [forged])
    assert [one.verdict for one in verdicts(memory.store, [forged, answer.id or ""])] == [
        "different",
        "exact",
    ]
    assert memory.recall("cats").hits
    memory.erase("c")
    memory.close()
    assert open_memory().recall("cats").hits


@pytest.mark.parametrize(
    "change",
    [{"ids": ("nobody",), "scores": (1.0,)}, {"scores": (1.0,)}, {"basis": 0}],
    ids=["a memory that never was", "fewer scores than memories", "before everything"],
)
def test_a_recall_that_cannot_have_been_recorded_is_shown_with_its_verdict(
    memory: Memory, change: dict[str, object]
):
    forged = forge(memory, memory.recall("deploys tuesday", track=False).id, **change)
    shown = show_recall(memory.store, forged)
    assert shown.replayed.verdict == "different"
    assert [hit.id for hit in shown.hits] == list(recorded(memory, forged).ids[: len(shown.hits)])


@pytest.mark.parametrize(
    "change", [{"digest": "0" * 64}, {"recalls": 2}, {"upto": 1}, {"different": (1,)}, {"spans": ()}]
)
def test_an_attestation_that_does_not_agree_with_itself_or_the_log_is_not_counted(
    memory: Memory, change: dict[str, object]
):
    seq = int((memory.recall("deploys tuesday", track=False).id or "")[1:])
    digest = sha256(f"r{seq} exact\n".encode()).hexdigest()
    fact = Attested(upto=seq, recalls=1, digest=digest, spans=((seq, seq),))
    memory.store.append([msgspec.structs.replace(fact, **change)])
    memory.erase("a", unattested=True)
    report = memory.verify()
    assert (report.verdict, report.attested, report.redacted) == ("partly", 0, 1)
    assert "is not counted" in report.notes[0]


def test_what_cannot_have_moved_a_ranking_does_not_excuse_a_difference(open_memory: Open):
    """Hidden memories give no words to the corpus, so erasing one leaves every ranking by words as it was."""
    memory = open_memory(embedder=None, formula="mnemosyne")
    for id_, text in TEXTS.items():
        memory.remember(text, id=id_)
    memory.forget("d")
    answer = memory.recall("deploys tuesday", track=False)
    report = memory.erase("d", unattested=True)
    assert report.unattested == 0
    assert counts(memory) == ("exact", 1, 0, 0, 0, 0)
    forge(memory, answer.id)
    assert counts(memory) == ("differs", 1, 0, 0, 0, 1)


def test_a_damaged_log_differs(memory: Memory, open_memory: Open):
    memory.recall("deploys tuesday")
    memory.close()
    assert memory.store.folder is not None
    (segment,) = (memory.store.folder / "log").glob("*.seg")
    data = bytearray(segment.read_bytes())
    data[data.index(b"cats sleep")] ^= 1
    segment.write_bytes(data)
    report = open_memory().verify()
    assert (report.verdict, report.exact, "the log is damaged" in report.sentence) == ("differs", False, True)


@pytest.mark.parametrize("type_", ["memory.ingested", "memory.rated", "recall.answered", "formula.adopted"])
def test_a_payload_that_was_blanked_without_an_erasure_differs(memory: Memory, open_memory: Open, type_: str):
    memory.recall("deploys tuesday", track=False)
    memory.remember("nothing was ever asked about this", id="unasked")
    memory.rate("unasked", "helpful")
    (*_, seq) = memory.store.log.positions(type_)
    memory.store.log.base.erase([seq])
    memory.close()
    report = open_memory().verify()
    assert (report.verdict, [one.seq for one in report.damage]) == ("differs", [seq])
    assert "no erasure names it" in report.damage[0].problem
