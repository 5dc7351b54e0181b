"""WarmEmbedder: the embedder that asks the helper, starts it if there is none, and loads the model itself if it must.

Every call connects anew: a helper may leave at any time between two calls, and connecting costs less than a tenth
of a millisecond. The vector of the probe text comes with the helper's greeting, computed by the very model that it
serves, so that checking a store's embedder costs no embedding.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress

import numpy as np

from recollect.engine.embedding.embedder import PROBE_TEXT, Embedder, Embeddings, choose
from recollect.engine.embedding.minilm import ModelMissing
from recollect.events.errors import RecollectError
from recollect.interfaces.model_server import protocol
from recollect.interfaces.model_server.place import NoPlace, Place, place_of
from recollect.interfaces.model_server.protocol import (
    Bye,
    Embed,
    Failed,
    Garbled,
    Hello,
    Helper,
    Reply,
    Request,
    Stop,
    Vectors,
)
from recollect.interfaces.model_server.starting import NotStarted, idle_minutes, start
from recollect.interfaces.model_server.version import version_of

_BATCH_BYTES = 8 * 2**20
_GREETING_TIMEOUT_S = 10.0
_MODEL_TIMEOUT_S = 600.0
_ATTEMPTS = 3

Tell = Callable[[str], None]


def _say_nothing(_: str) -> None:
    """Nobody listens."""


class Untrusted(RecollectError):
    """Somebody else answers on the helper's socket."""


class WarmEmbedder:
    """A model in a helper process. `tell` hears what went wrong, `starting` that the first call takes a while."""

    def __init__(
        self,
        model: str = "minilm",
        *,
        minutes: float | None = None,
        tell: Tell = _say_nothing,
        starting: Tell = _say_nothing,
    ) -> None:
        local = choose(model)
        assert local is not None
        self._local: Embedder = local
        self._model = model
        self._minutes = idle_minutes() if minutes is None else minutes
        self._tell = tell
        self._starting = starting
        self._version = version_of(model)
        self._alone = False
        self._wanted = False
        self._warming: threading.Thread | None = None
        self._begun: _Begun | None = None
        self.name = local.name
        self.dimensions = local.dimensions

    # --- the embedder ------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether `embed` answers at once. A helper that left is called back if this embedder was warmed before."""
        if self._alone:
            return self._local.ready
        helper = self.helper()
        if helper is None and self._wanted:
            self.warm()
        return helper is not None and helper.ready

    @property
    def failure(self) -> str | None:
        """Why the model is not there, once that is known."""
        return getattr(self._local, "failure", None) if self._alone else None

    @property
    def state(self) -> str:
        """For people: where the model is."""
        if self._alone:
            return "loaded in this process" if self._local.ready else "not loaded"
        helper = self.helper()
        if helper is None:
            return "not loaded"
        doing = f"idle {helper.idle_s / 60:.0f} min" if helper.ready else "loading"
        return f"warm helper pid {helper.pid}, {doing}"

    def warm(self) -> None:
        """Start a helper in the background."""
        self._wanted = True
        if self._warming is None or not self._warming.is_alive():
            self._warming = threading.Thread(target=self._start_quietly, name="recollect-warm", daemon=True)
            self._warming.start()

    @contextmanager
    def begin(self, text: str) -> Iterator[None]:
        """Ask for one text's vector ahead of `embed`, if a helper of this version is there to do it.

        At the end of the `with` the connection is closed, whether or not the vector was wanted.
        """
        talk = self._talk()
        if talk is None:
            yield
            return
        with closing(talk):
            if talk.helper.version == self._version and talk.helper.ready:
                self._begun = _Begun(talk, text)
            try:
                yield
            finally:
                self._begun = None

    def embed(self, texts: Sequence[str]) -> Embeddings:
        self._wanted = True
        begun, self._begun = (self._begun, None) if list(texts) != [PROBE_TEXT] else (None, self._begun)
        if begun is not None and (vectors := begun.take(list(texts))) is not None:
            return vectors
        for _ in range(_ATTEMPTS):
            if self._alone:
                break
            try:
                return self._embed(list(texts))
            except (NoPlace, NotStarted, Untrusted) as error:
                self._stay_alone(error)
            except (OSError, Garbled) as error:
                last: Exception = error
        else:
            self._stay_alone(last)
        return self._local.embed(texts)

    # --- the helper --------------------------------------------------------------------------------

    def helper(self) -> Helper | None:
        """The helper that answers now, if one does; starts nothing."""
        talk = self._talk()
        if talk is None:
            return None
        with closing(talk):
            return talk.helper

    def stop(self) -> None:
        """Send the helper away, if there is one."""
        talk = self._talk()
        if talk is not None:
            with closing(talk), suppress(OSError, Garbled):
                talk.ask(Stop())

    def _embed(self, texts: list[str]) -> Embeddings:
        with closing(self._require()) as talk:
            if texts == [PROBE_TEXT] and talk.helper.probe:
                return _matrix(talk.helper.probe, self.dimensions)
            parts = [talk.vectors(batch) for batch in _batches(texts)]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), dtype=np.float32)

    def _require(self) -> _Conversation:
        """With a helper of this version, started if need be; one of another version is sent away."""
        talk = self._talk()
        if talk is not None and talk.helper.version != self._version:
            talk.close()
            self.stop()
            talk = None
        if talk is None:
            self._starting(f"loading the model; it stays loaded for {self._minutes:g} idle minutes")
        for _ in range(_ATTEMPTS):
            if talk is not None:
                return talk
            start(place_of(self._model), self._model, minutes=self._minutes, answers=self._answers)
            talk = self._talk()  # None if the helper that answered was just leaving
        if talk is None:
            raise NotStarted("it left as soon as it was there")
        return talk

    def _talk(self) -> _Conversation | None:
        try:
            return _Conversation(place_of(self._model))
        except (OSError, RecollectError):
            return None

    def _answers(self) -> bool:
        helper = self.helper()
        return helper is not None and helper.version == self._version

    def _start_quietly(self) -> None:
        try:
            self._require().close()
        except (OSError, RecollectError) as error:
            self._stay_alone(error)
            self._local.warm()

    def _stay_alone(self, error: Exception) -> None:
        self._alone = True
        self._tell(f"no warm model helper: {error}; the model is loaded in this process instead")


class _Conversation:
    """One connection to a helper of this user, after the greeting."""

    def __init__(self, place: Place) -> None:
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.helper = self._greet(place)
        except BaseException:
            self.close()
            raise
        self._connection.settimeout(_MODEL_TIMEOUT_S)

    def _greet(self, place: Place) -> Helper:
        self._connection.settimeout(_GREETING_TIMEOUT_S)
        self._connection.connect(str(place.socket))
        if not protocol.same_user(self._connection):
            raise Untrusted(f"another user answers on {place.socket}; remove it")
        greeting = self.ask(Hello())
        if not isinstance(greeting, Helper):
            raise Garbled(f"the helper greeted with {type(greeting).__name__}")
        return greeting

    def close(self) -> None:
        self._connection.close()

    def ask(self, request: Request) -> Reply:
        self.send(request)
        return protocol.receive_reply(self._connection)

    def send(self, request: Request) -> None:
        protocol.send(self._connection, request)

    def vectors(self, texts: list[str]) -> Embeddings:
        self.send(Embed(texts=texts))
        return self.receive_vectors()

    def receive_vectors(self) -> Embeddings:
        match protocol.receive_reply(self._connection):
            case Vectors(dimensions=dimensions, data=data):
                return _matrix(data, dimensions)
            case Failed(problem=problem):
                raise ModelMissing(problem)
            case Helper() | Bye() as reply:
                raise Garbled(f"the helper answered {type(reply).__name__} to texts")


class _Begun:
    """A text that was sent to the helper, whose vector has not been read yet: the helper works meanwhile."""

    def __init__(self, talk: _Conversation, text: str) -> None:
        self._talk = talk
        self._text = text
        try:
            talk.send(Embed(texts=[text]))
        except (OSError, ValueError, Garbled):  # ValueError: half a character, as a shell may pass it
            talk.close()  # there is nothing to take

    def take(self, texts: list[str]) -> Embeddings | None:
        """The vector, if it is that of these texts and the helper gave one."""
        with closing(self._talk), suppress(OSError, Garbled, ModelMissing):
            if texts == [self._text]:
                return self._talk.receive_vectors()
        return None


def _matrix(data: bytes, dimensions: int) -> Embeddings:
    if dimensions <= 0 or len(data) % (4 * dimensions):
        raise Garbled(f"{len(data)} bytes are no vectors of {dimensions} dimensions")
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
