"""HelperEmbedder: a local model in the helper process that all programs of a user share.

Ask the helper for vectors. Start one if none is running and that is allowed; otherwise load the model in this process.
A helper that does not answer a ping within two seconds is avoided for a minute: a command says so, with the pid and what
to do, and goes on without vectors; a program that would not have started a helper loads the model itself.

Every call connects anew: a helper may end at any time between two calls, and connecting costs less than a tenth of a
millisecond. The vector of the probe text comes with the answer to a ping, computed by the model that the helper
serves, so that checking a store's embedder costs no embedding.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Literal

from recollect.engine.configuration import Setting
from recollect.engine.embedding.choice import choose
from recollect.engine.embedding.embedder import Embedder, EmbedderMismatch, Embeddings, EmbedFunction
from recollect.engine.embedding.minilm import is_installed
from recollect.engine.embedding.names import AUTO, NONE, RECORDED, SCHEMES, is_known
from recollect.engine.embedding.sentence_model import SentenceModel, runs_here
from recollect.events.errors import InvalidInput, RecollectError
from recollect.interfaces.model_server.connection import HelperConnection, HelperHung, Tell
from recollect.interfaces.model_server.protocol import Garbled, Helper, NoPlace, Stop, place_of, version
from recollect.interfaces.model_server.starting import NoHelper, idle_minutes, start
from recollect.projections.adoptions import Adoption

_ATTEMPTS = 3

HelperUse = Literal["start", "running", "never"]
"""Start a helper if none runs; use one that runs; load the model in this process."""


def embedder_of_store(
    adopted: Adoption | None,
    configured: Setting,
    *,
    empty: bool,
    helper: HelperUse | None = None,
    tell: Tell | None = None,
) -> Embedder | None:
    """The embedder of a store that was opened without naming one: the store's own, or for an empty store the configured one.

    If none is configured, use MiniLM if it is installed. A store's own is trusted as far as the user names the same.
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
    """The embedder that `Memory.open` was given; a local model is asked through a helper if `helper` allows it.

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
        tell: Tell | None = None,
    ) -> None:
        self._local = local
        self._model = model
        self._use = use
        self._minutes = idle_minutes()
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
        """The helper that answers now, if any; start nothing. Remember that one hangs."""
        try:
            with closing(self._find()) as talk:
                return talk.helper
        except HelperHung as hung:
            self._hung = hung
        except (OSError, RecollectError):
            self._hung = None
        return None

    def _find(self) -> HelperConnection:
        talk = HelperConnection(place_of(self._model))
        self._hung = None
        return talk

    def _connect(self) -> HelperConnection:
        """A connection to a helper of this version, started if it may be; one of another version is ended."""
        found: HelperConnection | None = None
        with suppress(FileNotFoundError, ConnectionError):
            found = self._find()
        if found is not None and found.helper.version != version():
            with closing(found):
                found.ask(Stop())
            found = None
        if found is None and self._use != "start":
            raise NoHelper("no model helper is running")
        if found is None:
            self._tell(f"loading {self.name} in a helper; it stays loaded for {self._minutes:g} idle minutes")
        for _ in range(_ATTEMPTS):
            if found is not None:
                return found
            start(place_of(self._model), self._model, minutes=self._minutes, answers=self._answers)
            with suppress(FileNotFoundError, ConnectionError):  # the one that answered was just ending
                found = self._find()
        if found is None:
            raise NoHelper("the model helper ended right after it started")
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
