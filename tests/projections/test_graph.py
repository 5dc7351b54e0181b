"""Graph: edges and clusters at any position."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import log_of, logs

from recollect.events.envelope import Recorded
from recollect.events.facts import Cluster, Clustered, Ingested, Linked, Unlinked
from recollect.projections.columns import State
from recollect.projections.documents import Documents
from recollect.projections.graph.expansion import Reached
from recollect.projections.graph.graph import Edge, Graph

NAMES = "abcde"
MEMORIES = [Ingested(id=name, content="", at=0) for name in NAMES]
FIRST = len(MEMORIES) + 1  # the seq of the first event after the memories
A, B, C, D, E = range(5)


class Folded:
    """Documents and graph over one log."""

    def __init__(self, log: list[Recorded] = ()) -> None:
        self.documents = Documents()
        self.graph = Graph(self.documents)
        for recorded in log:
            self.apply(recorded)

    def apply(self, recorded: Recorded) -> None:
        self.documents.apply(recorded)
        self.graph.apply(recorded)

    def everything(self, seq: int, memories: int) -> list[object]:
        """All that the graph says about these memories at `seq`."""
        graph, who = self.graph, np.arange(memories)
        neighbours = graph.neighbours(who, seq)
        return [
            [
                graph.edges_of(memory, seq, direction=way)
                for memory in range(memories)
                for way in ("both", "out", "in")
            ],
            [getattr(neighbours, name).tolist() for name in ("of", "memory", "weight")],
            [graph.edges.kinds.values[kind] for kind in neighbours.kind.tolist()],
            graph.degrees(who, seq).tolist(),
            [graph.expand([memory], seq, 2) for memory in range(memories)],
            graph.clusters.of(who, seq).tolist(),
            graph.clusters.at(seq),
        ]


def graph_of(*facts) -> Graph:
    return Folded(log_of(*MEMORIES, *facts)).graph


def link(a: str, b: str, weight: float = 1.0, kind: str = "related") -> Linked:
    return Linked(a=a, b=b, kind=kind, weight=weight)


def ends(edges: list[Edge]) -> list[tuple[int, int, str, float]]:
    return [(edge.a, edge.b, edge.kind, edge.weight) for edge in edges]


def test_an_edge_exists_from_the_event_that_adds_it_until_the_one_that_removes_it():
    graph = graph_of(link("a", "b", 0.5), Unlinked(a="a", b="b", kind="related"))
    assert [ends(graph.edges_of(A, seq)) for seq in (FIRST - 1, FIRST, FIRST + 1)] == [
        [],
        [(A, B, "related", 0.5)],
        [],
    ]


def test_the_same_edge_again_replaces_its_weight_and_the_past_keeps_the_old_one():
    graph = graph_of(link("a", "b", 0.5), link("a", "b", 0.9), link("a", "b", 0.1, "other"))
    assert ends(graph.edges_of(A, FIRST)) == [(A, B, "related", 0.5)]
    assert ends(graph.edges_of(A, FIRST + 2)) == [(A, B, "related", 0.9), (A, B, "other", 0.1)]
    assert [edge.added for edge in graph.edges_of(B, FIRST + 2)] == [FIRST + 1, FIRST + 2]


def test_unlinking_without_a_kind_takes_every_edge_of_that_direction():
    graph = graph_of(link("a", "b"), link("a", "b", kind="other"), link("b", "a"), Unlinked(a="a", b="b"))
    assert ends(graph.edges_of(A, FIRST + 3)) == [(B, A, "related", 1.0)]


def test_an_edge_to_an_unknown_id_is_ignored_even_if_the_id_comes_later():
    graph = graph_of(link("a", "late"), Ingested(id="late", content="", at=0), Unlinked(a="x", b="y"))
    assert graph.edges_of(A, FIRST + 2) == []


def test_direction_kinds_and_weight_choose_among_the_edges_heaviest_first():
    graph = graph_of(
        link("a", "b", 0.2), link("c", "a", 0.8), link("a", "d", 0.8, "because"), link("a", "a", 0.1)
    )
    seq = FIRST + 3
    every = [(A, D, "because", 0.8), (C, A, "related", 0.8), (A, B, "related", 0.2), (A, A, "related", 0.1)]
    assert ends(graph.edges_of(A, seq)) == every
    assert ends(graph.edges_of(A, seq, direction="out")) == [every[0], every[2], every[3]]
    assert ends(graph.edges_of(A, seq, direction="in")) == [every[1], every[3]]
    assert ends(graph.edges_of(A, seq, kinds=["because", "unheard of"])) == [every[0]]
    assert ends(graph.edges_of(A, seq, min_weight=0.8)) == every[:2]
    assert [edge.other(A) for edge in graph.edges_of(A, seq)] == [D, C, B, A]


def test_neighbours_give_the_other_end_of_every_edge_and_degrees_count_them():
    graph = graph_of(link("a", "b", 0.2), link("c", "a", 0.8))
    found = graph.neighbours(np.array([A, C]), FIRST + 1)
    assert list(zip(found.of.tolist(), found.memory.tolist(), found.weight.tolist(), strict=True)) == [
        (A, B, 0.2),
        (A, C, 0.8),
        (C, A, 0.8),
    ]
    assert graph.degrees(np.array([A, C, E, A]), FIRST + 1).tolist() == [2, 1, 0, 2]
    assert graph.degrees(np.array([], dtype=np.int64), FIRST + 1).tolist() == []


def test_expansion_goes_breadth_first_and_takes_the_heaviest_of_the_shortest_ways():
    graph = graph_of(
        link("a", "b", 0.5), link("a", "c", 0.8), link("b", "d", 0.9), link("c", "d", 0.5), link("d", "e")
    )
    found = graph.expand([A], FIRST + 4, 2)
    assert found == [
        Reached(memory=C, hop=1, via=A, kind="related", weight=0.8, path_weight=0.8),
        Reached(memory=B, hop=1, via=A, kind="related", weight=0.5, path_weight=0.5),
        Reached(memory=D, hop=2, via=B, kind="related", weight=0.9, path_weight=0.5 * 0.9),
    ]
    assert [step.memory for step in graph.expand([A, E], FIRST + 4, 1)] == [D, C, B]
    assert graph.expand([A], FIRST + 4, 0) == []


def test_expansion_neither_reaches_nor_passes_what_is_not_admitted():
    graph = graph_of(link("a", "b"), link("b", "c"), link("a", "d"))
    found = graph.expand([A], FIRST + 2, 3, admit=lambda memories: memories != B)
    assert [step.memory for step in found] == [D]


def test_expansion_follows_the_direction_and_the_weights_asked_for():
    graph = graph_of(link("a", "b", 0.5), link("c", "a"), link("a", "d", kind="other"))
    seq = FIRST + 2
    assert [step.memory for step in graph.expand([A], seq, 1, direction="in")] == [C]
    assert [step.memory for step in graph.expand([A], seq, 1, min_weight=0.6)] == [C, D]


def clusters(*members: tuple[str, ...]) -> Clustered:
    return Clustered(
        method="leader",
        clusters=tuple(
            Cluster(name=f"cluster of {len(part)}", centroid=bytes([n, 0]), members=part)
            for n, part in enumerate(members)
        ),
    )


def test_an_assignment_replaces_the_one_before_and_numbers_go_on():
    graph = graph_of(clusters(("a", "c"), ("b", "c", "unknown")), clusters(("c",)))
    everyone = np.arange(5)
    assert graph.clusters.of(everyone, FIRST - 1).tolist() == [-1] * 5
    assert graph.clusters.of(everyone, FIRST).tolist() == [0, 1, 0, -1, -1]
    assert graph.clusters.of(everyone, FIRST + 1).tolist() == [-1, -1, 2, -1, -1]
    assert [(c.number, c.name, c.members) for c in graph.clusters.at(FIRST)] == [
        (0, "cluster of 2", (A, C)),
        (1, "cluster of 3", (B,)),
    ]
    assert [graph.clusters.centroid(number) for number in (0, 1, 2)] == [
        bytes([0, 0]),
        bytes([1, 0]),
        bytes([0, 0]),
    ]


def test_an_empty_assignment_ends_all_clusters():
    graph = graph_of(clusters(("a",)), clusters())
    assert graph.clusters.of(np.array([A]), FIRST + 1).tolist() == [-1]
    assert graph.clusters.at(FIRST + 1) == []


@given(logs())
def test_the_graph_at_a_seq_is_that_of_the_log_up_to_it(log):
    whole, prefix = Folded(log), Folded()
    for recorded in log:
        prefix.apply(recorded)
        memories = prefix.documents.memories
        assert whole.everything(recorded.seq, memories) == prefix.everything(recorded.seq, memories)


@given(logs(), st.integers(0, 30))
def test_a_checkpoint_and_the_rest_of_the_log_give_what_the_whole_log_gives(log, cut):
    half, loaded, whole = Folded(log[:cut]), Folded(log), Folded(log)
    loaded.everything(len(log), whole.documents.memories)  # what it held before must leave no trace
    loaded.documents.load(copied(half.documents.dump()))
    loaded.graph.load(copied(half.graph.dump()))
    for recorded in log[cut:]:
        loaded.apply(recorded)
    for seq in {0, cut, len(log)}:
        memories = whole.documents.memories
        assert loaded.everything(seq, memories) == whole.everything(seq, memories)


def test_edges_of_a_checkpoint_can_be_replaced_and_removed():
    log = log_of(*MEMORIES, link("a", "b", 0.5), link("a", "c"), link("a", "b", 0.9), Unlinked(a="a", b="c"))
    half, loaded = Folded(log[: FIRST + 1]), Folded()
    loaded.documents.load(copied(half.documents.dump()))
    loaded.graph.load(copied(half.graph.dump()))
    for recorded in log[FIRST + 1 :]:
        loaded.apply(recorded)
    assert ends(loaded.graph.edges_of(A, FIRST + 1)) == [(A, C, "related", 1.0), (A, B, "related", 0.5)]
    assert ends(loaded.graph.edges_of(A, FIRST + 3)) == [(A, B, "related", 0.9)]


@given(logs())
def test_the_edges_are_those_of_a_plain_mapping(log):
    """A second, naive fold: {(a, b, kind): weight} of what exists at the end."""
    folded, plain, known = Folded(log), {}, set()
    for recorded in log:
        match recorded.fact:
            case Ingested(id=id_):
                known.add(id_)
            case Linked(a=a, b=b, kind=kind, weight=weight) if {a, b} <= known:
                plain[a, b, kind] = weight
            case Unlinked(a=a, b=b, kind=kind):
                plain = {k: w for k, w in plain.items() if k[:2] != (a, b) or kind not in (None, k[2])}
    names = folded.documents.ids.values
    found = {
        (names[edge.a], names[edge.b], edge.kind): edge.weight
        for memory in range(len(names))
        for edge in folded.graph.edges_of(memory, len(log), direction="out")
    }
    assert found == plain


def copied(state: State) -> State:
    return {name: value if isinstance(value, bytes) else value.copy() for name, value in state.items()}
