"""What a server of many stores counts, in the text format of Prometheus (version 0.0.4).

A store's own token sees the lines of that store alone; a token for metrics sees all of them, and the requests without
a known token. Names of stores are letters, digits, - and _, so no label needs escaping.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters since the server was started; requests without a known token have the store ""."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._answers: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._opened: Counter[str] = Counter()

    def answered(self, store: str, status: int, seconds: float) -> None:
        self._requests[store, status] += 1
        self._answers[store] += 1
        self._seconds[store] += seconds

    def opened(self, store: str) -> None:
        self._opened[store] += 1

    def text(self, stores: Collection[str], heads: Mapping[str, int]) -> str:
        """The lines of these stores; `heads` are the heads of those that are open."""
        requests = sorted((key, count) for key, count in self._requests.items() if key[0] in stores)
        seconds = ((store, f"{total:.6f}") for store, total in self._seconds.items())
        lines = [
            *_head("recollect_requests_total", "counter", "Requests answered."),
            *(
                f'recollect_requests_total{{store="{store}",status="{status}"}} {count}'
                for (store, status), count in requests
            ),
            *_head("recollect_request_seconds", "summary", "Time until an answer was complete."),
            *_labelled("recollect_request_seconds_sum", stores, seconds),
            *_labelled("recollect_request_seconds_count", stores, self._answers.items()),
            *_head("recollect_store_opened_total", "counter", "How often a store was opened."),
            *_labelled("recollect_store_opened_total", stores, self._opened.items()),
            *_head("recollect_store_open", "gauge", "Whether a store is open now."),
            *_labelled(
                "recollect_store_open", stores, ((store, int(store in heads)) for store in self._opened)
            ),
            *_head("recollect_store_head", "gauge", "The last event of a store that is open."),
            *_labelled("recollect_store_head", stores, heads.items()),
        ]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, says: str) -> tuple[str, str]:
    return f"# HELP {name} {says}", f"# TYPE {name} {kind}"


def _labelled(name: str, stores: Collection[str], values: Iterable[tuple[str, int | str]]) -> Iterator[str]:
    for store, value in sorted(values):
        if store in stores:
            yield f'{name}{{store="{store}"}} {value}'
