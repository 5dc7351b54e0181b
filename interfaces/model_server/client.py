"""HelperEmbedder: a local model in the helper process that all programs of a user share.

It asks the helper, starts one if it may and none is there, and loads the model in this process where none can be had.
A helper that does not answer a ping within two seconds is passed over and avoided for a minute: a command says so,
with the pid and what to do, and goes without vectors; a program that would not have started a helper loads the model.

Every call connects anew: a helper may end at any time between two calls, and connecting costs less than a tenth of a
millisecond. The vector of the probe text comes with the answer to a ping, computed by the model that the helper
serves, so that checking a store's embedder costs no embedding.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from recollect.engine.configuration import Setting
from recollect.engine.embedding.choice import choose
from recollect.engine.embedding.embedder import (
    PROBE_TEXT,
    Embedder,
    EmbedderAway,
    EmbedderMismatch,
    Embeddings,
    EmbedFunction,
)
from recollect.engine.embedding.minilm import is_installed
from recollect.engine.embedding.names import AUTO, NONE, RECORDED, SCHEMES, is_known
from recollect.engine.embedding.sentence_model import ModelMissing, SentenceModel, runs_here
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.private_files import open_private
from recollect.interfaces.model_server.protocol import (
    TEXTS_MAX,
    Embed,
    Failed,
    Garbled,
    Helper,
    NoPlace,
    Ping,
    Place,
    Reply,
    Request,
    Stop,
    Vectors,
    packed,
    place_of,
    places,
    receive,
    same_user,
    version,
)
from recollect.interfaces.model_server.starting import NoHelper, idle_minutes, start
from recollect.projections.adoptions import Adoption

PING_S = 2.0
AVOIDED_S = 60.0
_LOADING_S = 120.0
_MODEL_S = 600.0
_LEAVING_S = 10.0
_ATTEMPTS = 3
_BATCH_BYTES = 8 * 2**20

HelperUse = Literal["start", "running", "never"]
"""Start a helper if none runs; use one that runs; load the model in this process."""

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


class FoundHelper(msgspec.Struct, frozen=True, kw_only=True):
    """One helper of this user, as `recollect helper` shows it; `stopped` says that it was ended just now."""

    pid: int
    state: Literal["ready", "loading", "not answering"]
    model: str = ""
    idle_minutes: float = 0.0
    idle_minutes_max: float = 0.0
    memory_bytes: int = 0
    memory_bytes_max: int = 0
    stopped: bool = False


def embedder_of_store(
    adopted: Adoption | None,
    configured: Setting,
    *,
    empty: bool,
    helper: HelperUse | None = None,
    tell: Tell | None = None,
) -> Embedder | None:
    """The embedder of a store that was opened with none named: its own; an empty one takes what is configured.

    Where nothing is, it takes MiniLM if that is installed. A store's own is trusted as far as the user names the same.
    """
    if adopted is None:
        return _of_empty_store(configured, helper, tell) if empty else None
    if adopted.label.startswith(RECORDED):
        return None  # a redacted fixture
    if not is_known(adopted.label):
        raise EmbedderMismatch(store=adopted.label)
    for said in configured.said:
        if said.named_by_user and _is_name_of(said.value, adopted.label):
            return choose_embedder(said.value, helper=helper, tell=tell)
    return choose_embedder(adopted.label, helper=helper, tell=tell, from_log=True)


def _of_empty_store(configured: Setting, helper: HelperUse | None, tell: Tell | None) -> Embedder | None:
    said = configured.chosen
    if said is not None and said.value != AUTO:
        return choose_embedder(said.value, helper=helper, tell=tell, from_log=not said.named_by_user)
    return choose_embedder("minilm", helper=helper, tell=tell) if is_installed() else None


def _is_name_of(given: str, recorded: str) -> bool:
    """Whether this names the embedder that a store recorded; options such as batch and device are no part of a name."""
    if given in (AUTO, NONE) or given.startswith(SCHEMES) != recorded.startswith(SCHEMES):
        return False
    with suppress(InvalidInput):  # said where the setting is used
        named = choose(given)
        return named is not None and named.name == recorded
    return False


def choose_embedder(
    given: str | Embedder | EmbedFunction | None,
    *,
    helper: HelperUse | None = None,
    tell: Tell | None = None,
    from_log: bool = False,
) -> Embedder | None:
    """What `Memory.open` takes for an embedder; a local model is asked through a helper if `helper` lets it.

    Without `helper`, a running one is used unless RECOLLECT_NO_DAEMON is set. `tell` hears what a person should know.
    """
    chosen = choose(given, from_log=from_log)
    if not isinstance(chosen, SentenceModel) or not runs_here():
        return chosen
    use = helper or ("never" if os.environ.get("RECOLLECT_NO_DAEMON") else "running")
    return HelperEmbedder(chosen, chosen.spec, use=use, tell=tell)


class HelperEmbedder:
    """`local` is the model if it must be loaded here, `model` the name by which a helper chooses the same one."""

    def __init__(
        self,
        local: Embedder,
        model: str,
        *,
        use: HelperUse = "start",
        minutes: float | None = None,
        tell: Tell | None = None,
    ) -> None:
        self._local = local
        self._model = model
        self._use = use
        self._minutes = idle_minutes() if minutes is None else minutes
        self._tell = tell or logging.getLogger("recollect").info
        self._here = use == "never"
        self._wanted = False
        self._hung: HelperHung | None = None
        self._warming: threading.Thread | None = None
        self._dimensions = local.dimensions
        self.name = local.name

    # --- the embedder ------------------------------------------------------------------------------

    @property
    def dimensions(self) -> int:
        """Known once a text was embedded, and 0 before where the model does not say."""
        return self._dimensions or self._local.dimensions

    @property
    def ready(self) -> bool:
        """Whether `embed` answers at once. A helper that ended is called back if this embedder was used before."""
        if self._here:
            return self._local.ready
        helper = self.helper()
        if helper is None and self._wanted and self._hung is None:
            self.warm()
        return helper is not None and helper.ready

    @property
    def failure(self) -> str | None:
        if self._here:
            return self._local.failure
        return None if self._hung is None else str(self._hung)

    @property
    def state(self) -> str:
        if self._here:
            return "loaded in this process" if self._local.ready else self._local.state
        helper = self.helper()
        if self._hung is not None:
            return str(self._hung)
        if helper is None:
            return "not loaded"
        doing = f"idle {helper.idle_s / 60:.0f} min" if helper.ready else "loading"
        return f"warm helper pid {helper.pid}, {doing}"

    def warm(self) -> None:
        """Start getting ready in the background."""
        self._wanted = True
        if self._warming is None or not self._warming.is_alive():
            self._warming = threading.Thread(target=self._warm, name="recollect-warm", daemon=True)
            self._warming.start()

    def embed(self, texts: Sequence[str]) -> Embeddings:
        return self._embed(list(texts), queries=False)

    def embed_queries(self, texts: Sequence[str]) -> Embeddings:
        return self._embed(list(texts), queries=True)

    def cut_note(self, texts: Sequence[str]) -> str | None:  # noqa: ARG002 (it was told with the vectors)
        return None

    def _embed(self, texts: list[str], *, queries: bool) -> Embeddings:
        self._wanted = True
        problem: Exception | None = None
        for _ in range(_ATTEMPTS):
            if self._here:
                break
            try:
                with closing(self._connect()) as talk:
                    vectors = talk.embed(texts, queries=queries, tell=self._tell)
                    self._dimensions = vectors.shape[1] or self._dimensions
                    return vectors
            except HelperHung as hung:
                if self._use == "start":
                    raise
                self._hung = hung
                self._load_here(hung)
            except (NoHelper, NoPlace) as error:
                self._load_here(error)
            except (OSError, Garbled) as error:
                problem = error
        else:
            self._load_here(problem)
        if not self._local.ready:
            if queries and self._hung is not None and self._local.failure is None:
                self._local.warm()  # a question is answered by words meanwhile
                raise self._hung
            self._tell(f"loading {self.name} in this process")
        vectors = self._local.embed_queries(texts) if queries else self._local.embed(texts)
        if note := self._local.cut_note(texts):
            self._tell(note)
        return vectors

    # --- the helper --------------------------------------------------------------------------------

    def helper(self) -> Helper | None:
        """The helper that answers now; starts nothing. One that hangs is kept in mind."""
        try:
            with closing(self._find()) as talk:
                return talk.helper
        except HelperHung as hung:
            self._hung = hung
        except (OSError, RecollectError):
            self._hung = None
        return None

    def _find(self) -> _Conversation:
        talk = _Conversation(place_of(self._model))
        self._hung = None
        return talk

    def _connect(self) -> _Conversation:
        """A conversation with a helper of this version, started if it may be; one of another version is ended."""
        found: _Conversation | None = None
        with suppress(FileNotFoundError, ConnectionError):
            found = self._find()
        if found is not None and found.helper.version != version():
            with closing(found):
                found.ask(Stop())
            found = None
        if found is None and self._use != "start":
            raise NoHelper("none is running")
        if found is None:
            self._tell(f"loading {self.name} in a helper; it stays loaded for {self._minutes:g} idle minutes")
        for _ in range(_ATTEMPTS):
            if found is not None:
                return found
            start(place_of(self._model), self._model, minutes=self._minutes, answers=self._answers)
            with suppress(FileNotFoundError, ConnectionError):  # the one that answered was just ending
                found = self._find()
        if found is None:
            raise NoHelper("it ended as soon as it was there")
        return found

    def _answers(self) -> bool:
        with suppress(FileNotFoundError, ConnectionError), closing(self._find()) as talk:
            return talk.helper.version == version()
        return False

    def _warm(self) -> None:
        try:
            self._connect().close()
        except HelperHung as hung:
            self._hung = hung
        except (OSError, RecollectError) as error:
            self._load_here(error)
            self._local.warm()

    def _load_here(self, error: Exception | None) -> None:
        self._here = True
        if self._use == "start" or isinstance(error, HelperHung):
            self._tell(f"{error}; the model is loaded in this process instead")


class _Conversation:
    """One connection to a helper of this user, after its answer to a ping."""

    def __init__(self, place: Place) -> None:
        _avoid(place)
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.helper = self._greet(place)
        except BaseException:
            self.close()
            raise
        place.hung.unlink(missing_ok=True)
        self._connection.settimeout(_MODEL_S)

    def _greet(self, place: Place) -> Helper:
        self._connection.settimeout(PING_S)
        try:
            self._connection.connect(str(place.socket))
            if not same_user(self._connection):
                raise NoPlace(f"another user answers on {place.socket}; remove it")
            self._connection.sendall(packed(Ping()))
            self._await_answer(place)
            greeting = self._receive()
        except (TimeoutError, BlockingIOError):  # no answer, or more waiting clients than fit
            pid, _ = place.holder() or (0, False)
            with open(open_private(place.hung, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as marker:  # noqa: PTH123 (a descriptor)
                marker.write(str(pid))
            raise HelperHung(pid) from None
        if not isinstance(greeting, Helper):
            raise Garbled(f"the helper greeted with {type(greeting).__name__}")
        return greeting

    def close(self) -> None:
        self._connection.close()

    def ask(self, request: Request) -> Reply:
        self._connection.sendall(packed(request))
        return self._receive()

    def embed(self, texts: list[str], *, queries: bool, tell: Tell) -> Embeddings:
        if texts == [PROBE_TEXT] and self.helper.probe and not queries:
            return _matrix(self.helper.probe, self.helper.dimensions)
        parts = [self._vectors(batch, queries, tell) for batch in _batches(texts)]
        return np.concatenate(parts) if parts else np.zeros((0, self.helper.dimensions), dtype=np.float32)

    def _vectors(self, texts: list[str], queries: bool, tell: Tell) -> Embeddings:
        match self.ask(Embed(texts=texts, queries=queries)):
            case Vectors(dimensions=dimensions, data=data, note=note):
                if note:
                    tell(note)
                return _matrix(data, dimensions)
            case Failed(problem=problem, too_large=True):
                raise NoHelper(problem)
            case Failed(problem=problem):
                raise ModelMissing(problem)
            case Helper():
                raise Garbled("the helper answered texts with a greeting")

    def _receive(self) -> Reply:
        with self._connection.makefile("rb") as stream:
            return receive(stream)

    def _await_answer(self, place: Place) -> None:
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


def _avoid(place: Place) -> None:
    """Raise HelperHung if the helper that lives here was found hanging a moment ago."""
    try:
        pid, age_s = int(place.hung.read_text("utf-8")), time.time() - place.hung.stat().st_mtime
    except (OSError, ValueError):
        return
    holder = place.holder()
    if 0.0 <= age_s < AVOIDED_S and holder is not None and holder[0] == pid:
        raise HelperHung(pid)


def _is_loading(place: Place) -> bool:
    """Whether the helper of a place is still loading, and not stopped as far as the system tells."""
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
        raise Garbled(f"{len(data)} bytes are no vectors of {dimensions} dimensions")
    return np.frombuffer(data, dtype="<f4").reshape(-1, dimensions).astype(np.float32, copy=True)


def _batches(texts: list[str]) -> Iterator[list[str]]:
    """As many texts per request as the helper takes, and not too many bytes."""
    batch: list[str] = []
    size = 0
    for text in texts:
        size += 4 * len(text)
        if batch and (len(batch) == TEXTS_MAX or size > _BATCH_BYTES):
            yield batch
            batch, size = [], 4 * len(text)
        batch.append(text)
    if batch:
        yield batch


# --- finding, stopping -------------------------------------------------------------------


def helpers() -> list[FoundHelper]:
    """The helpers of this user that live, whether or not they answer."""
    return [found for place in places() if (found := look(place)) is not None]


def stop_helpers() -> list[FoundHelper]:
    """End all helpers of this user; one that does not answer is killed."""
    stopped = []
    for place in places():
        found = look(place, stop=True)
        if found is None:
            continue
        if found.state == "not answering" and found.pid:
            with suppress(ProcessLookupError):
                os.kill(found.pid, signal.SIGKILL)  # it holds the lock, so the pid is its own
        deadline = time.monotonic() + _LEAVING_S
        while (alive := place.holder() is not None) and time.monotonic() < deadline:
            time.sleep(0.01)
        stopped.append(msgspec.structs.replace(found, stopped=not alive))
    return stopped


def look(place: Place, *, stop: bool = False) -> FoundHelper | None:
    """The helper that lives in a place, asked anew even if it was found hanging; `stop` asks it to end."""
    holder = place.holder()
    place.hung.unlink(missing_ok=True)
    if holder is None:
        return None
    try:
        with closing(_Conversation(place)) as talk:
            helper = talk.helper
            if stop:
                talk.ask(Stop())
    except (OSError, RecollectError):
        return FoundHelper(pid=holder[0], state="not answering", model=place.name.rpartition("-")[0])
    return FoundHelper(
        pid=helper.pid,
        state="ready" if helper.ready else "loading",
        model=helper.model,
        idle_minutes=helper.idle_s / 60.0,
        idle_minutes_max=helper.idle_s_max / 60.0,
        memory_bytes=helper.memory_bytes,
        memory_bytes_max=helper.memory_bytes_max,
    )
