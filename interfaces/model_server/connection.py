"""A connection to a model helper: greet it, ask it for vectors, and avoid it for a minute if it hangs."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from recollect.engine.embedding.embedder import PROBE_TEXT, EmbedderAway, Embeddings
from recollect.engine.embedding.sentence_model import ModelMissing
from recollect.events.private_files import open_private
from recollect.interfaces.model_server import protocol
from recollect.interfaces.model_server.starting import NoHelper

PING_S = 2.0
AVOIDED_S = 60.0
_LOADING_S = 120.0
_MODEL_S = 600.0
_BATCH_BYTES = 8 * 2**20

Tell = Callable[[str], None]


class HelperHung(EmbedderAway):
    """The helper does not answer."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        who, end = (f"pid {pid}", f", or `kill -9 {pid}`") if pid else ("no pid known", "")
        super().__init__(
            f"the model helper ({who}) does not answer; end it with `recollect helper stop`{end}, or load the model in "
            f"the command's own process with --no-daemon"
        )


class HelperConnection:
    """One connection to a helper of this user, after its answer to a ping."""

    def __init__(self, place: protocol.Place) -> None:
        _avoid(place)
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.helper = self._greet(place)
        except BaseException:
            self.close()
            raise
        place.hung.unlink(missing_ok=True)
        self._connection.settimeout(_MODEL_S)

    def _greet(self, place: protocol.Place) -> protocol.Helper:
        self._connection.settimeout(PING_S)
        try:
            self._connection.connect(str(place.socket))
            if not protocol.same_user(self._connection):
                raise protocol.NoPlace(f"another user answers on {place.socket}; remove it")
            self._connection.sendall(protocol.packed(protocol.Ping()))
            self._await_answer(place)
            greeting = self._receive()
        except (TimeoutError, BlockingIOError):  # no answer, or more waiting clients than fit
            pid, _ = place.holder() or (0, False)
            with open(open_private(place.hung, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as marker:  # noqa: PTH123 (a descriptor)
                marker.write(str(pid))
            raise HelperHung(pid) from None
        if not isinstance(greeting, protocol.Helper):
            raise protocol.Garbled(f"the helper greeted with {type(greeting).__name__}")
        return greeting

    def close(self) -> None:
        self._connection.close()

    def ask(self, request: protocol.Request) -> protocol.Reply:
        self._connection.sendall(protocol.packed(request))
        return self._receive()

    def embed(self, texts: list[str], *, queries: bool, tell: Tell) -> Embeddings:
        if texts == [PROBE_TEXT] and self.helper.probe and not queries:
            return _matrix(self.helper.probe, self.helper.dimensions)
        parts = [self._vectors(batch, queries, tell) for batch in _batches(texts)]
        return np.concatenate(parts) if parts else np.zeros((0, self.helper.dimensions), dtype=np.float32)

    def _vectors(self, texts: list[str], queries: bool, tell: Tell) -> Embeddings:
        match self.ask(protocol.Embed(texts=texts, queries=queries)):
            case protocol.Vectors(dimensions=dimensions, data=data, note=note):
                if note:
                    tell(note)
                return _matrix(data, dimensions)
            case protocol.Failed(problem=problem, too_large=True):
                raise NoHelper(problem)
            case protocol.Failed(problem=problem):
                raise ModelMissing(problem)
            case protocol.Helper():
                raise protocol.Garbled("the helper answered texts with a greeting")

    def _receive(self) -> protocol.Reply:
        with self._connection.makefile("rb") as stream:
            return protocol.receive(stream)

    def _await_answer(self, place: protocol.Place) -> None:
        """TimeoutError unless the answer begins in time.

        Importing a model's libraries may hold all threads of a helper for seconds: one that loads gets more time.
        """
        deadline = time.monotonic() + _LOADING_S
        while True:
            try:
                self._connection.recv(1, socket.MSG_PEEK)
            except TimeoutError:
                if time.monotonic() > deadline or not _is_loading(place):
                    raise
            else:
                return


def _avoid(place: protocol.Place) -> None:
    """Raise HelperHung if this helper was found hanging less than a minute ago."""
    try:
        pid, age_s = int(place.hung.read_text("utf-8")), time.time() - place.hung.stat().st_mtime
    except (OSError, ValueError):
        return
    holder = place.holder()
    if 0.0 <= age_s < AVOIDED_S and holder is not None and holder[0] == pid:
        raise HelperHung(pid)


def _is_loading(place: protocol.Place) -> bool:
    """Whether the helper is still loading, and not suspended (SIGSTOP) as far as the system tells."""
    holder = place.holder()
    if holder is None or holder[1]:
        return False
    try:
        after_name = Path(f"/proc/{holder[0]}/stat").read_text("utf-8", "replace").rpartition(")")[2]
    except OSError:
        return True
    return after_name.split()[0] not in {"T", "t"}


def _matrix(data: bytes, dimensions: int) -> Embeddings:
    if dimensions <= 0 or len(data) % (4 * dimensions):
        raise protocol.Garbled(f"{len(data)} bytes are no vectors of {dimensions} dimensions")
    return np.frombuffer(data, dtype="<f4").reshape(-1, dimensions).astype(np.float32, copy=True)


def _batches(texts: list[str]) -> Iterator[list[str]]:
    """As many texts per request as the helper takes, and not too many bytes."""
    batch: list[str] = []
    size = 0
    for text in texts:
        size += 4 * len(text)
        if batch and (len(batch) == protocol.TEXTS_MAX or size > _BATCH_BYTES):
            yield batch
            batch, size = [], 4 * len(text)
        batch.append(text)
    if batch:
        yield batch
