"""Settings for what a caller leaves out: embedder, reranker, chat server, formula and project, and their sources.

    flag  >  environment  >  <store>/config.toml  >  ~/.config/recollect/config.toml (XDG_CONFIG_HOME)  >  built in

    embedder = "http://localhost:11434/v1?model=nomic-embed-text"
    reranker = "cross-encoder/ms-marco-MiniLM-L6-v2"
    formula  = "omega"                                # or a file, from where this one is
    project  = "shop"
    [chat]
    url   = "http://localhost:11434/v1"
    model = "llama3.2"

A store may come from someone else, and its config.toml with it: what only that names gets no key, is asked only on this
machine, downloads nothing, and reads no formula from outside the store. A file with a key in it is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args

import msgspec

from recollect.engine.embedding.names import KEYS, shown
from recollect.events.errors import InvalidInput
from recollect.events.named_files import named_path, resolved
from recollect.events.toml_file import read_toml

FILE = "config.toml"
Name = Literal["embedder", "reranker", "chat.url", "chat.model", "formula", "project"]
Source = Literal["flag", "environment", "store", "user", "default"]
NAMES: tuple[Name, ...] = get_args(Name)
_DEFAULTS: dict[Name, str] = {
    "embedder": "a store keeps what it has; a new one takes minilm if installed, and words only otherwise",
    "formula": "the one in force in the store, which is recollect in a new one",
}


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A value and its source; `where` is the flag, the variable or the file."""

    source: Source
    where: str
    value: str

    @property
    def named_by_user(self) -> bool:
        """Whether the user said it, and not a store that may be anyone's."""
        return self.source in ("flag", "environment", "user")


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """All given values of one setting, the one in force first; none if the default holds."""

    name: Name
    said: tuple[Said, ...] = ()

    @property
    def chosen(self) -> Said | None:
        return self.said[0] if self.said else None

    @property
    def value(self) -> str | None:
        return self.said[0].value if self.said else None


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """A setting as `recollect config` shows it: its value, where it comes from, and what it hides."""

    name: str
    value: str | None
    source: Source
    where: str = ""
    hidden: tuple[Said, ...] = ()
    note: str = ""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """All settings, the files that were looked for, and which keys the environment holds (never what they are)."""

    settings: tuple[Explained, ...]
    files: dict[str, bool]
    keys: dict[str, bool]


Configuration = dict[Name, Setting]


def explained(store: str | Path | None, flags: Mapping[Name, str | None]) -> Explanation:
    """The settings for people; a password in a URL is not shown."""
    return Explanation(
        settings=tuple(map(_explained, configured(store, flags).values())),
        files={str(file): file.is_file() for _, file in _files(store)},
        keys={key: bool(os.environ.get(key)) for key in KEYS.values()},
    )


def configured(store: str | Path | None, flags: Mapping[Name, str | None] = {}) -> Configuration:
    """What holds for a store, by its directory; None is one without a directory here."""
    settings: dict[Name, list[Said]] = {name: [] for name in NAMES}
    for name, value in flags.items():
        if value is not None:
            settings[name].append(Said(source="flag", where=f"--{name}", value=value))
    for name in NAMES:
        variable = f"RECOLLECT_{name.replace('.', '_').upper()}"
        if value := os.environ.get(variable, "").strip():
            settings[name].append(Said(source="environment", where=variable, value=value))
    for source, file in _files(store):
        for name, value in _read(file):
            settings[name].append(Said(source=source, where=str(file), value=value))
    return {name: Setting(name=name, said=tuple(found)) for name, found in settings.items()}


def _files(store: str | Path | None) -> list[tuple[Source, Path]]:
    """The files that settings may come from, the first to be heard first."""
    own: list[tuple[Source, Path]] = [] if store is None else [("store", named_path(store).absolute() / FILE)]
    return [*own, ("user", user_file())]


def user_file() -> Path:
    """The user's own file, whether it is there or not."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if base.startswith("/") else named_path("~/.config")) / "recollect" / FILE


def formula_file(said: Said) -> str | Path:
    """A formula as it is named: a file is meant from where the configuration is, a store's own stays inside the store."""
    value = said.value
    if said.source not in ("store", "user") or ("/" not in value and not value.endswith(".toml")):
        return value
    base = Path(said.where).parent
    path = resolved(base / named_path(value))
    if said.source == "store" and not path.is_relative_to(base.resolve()):
        raise InvalidInput(f"{said.where} names the formula {value!r}, which is outside of the store")
    return path


def _explained(setting: Setting) -> Explained:
    said = tuple(msgspec.structs.replace(one, value=shown(one.value)) for one in setting.said)
    if not said:
        return Explained(
            name=setting.name, value=None, source="default", note=_DEFAULTS.get(setting.name, "")
        )
    first, *hidden = said
    return Explained(
        name=setting.name, value=first.value, source=first.source, where=first.where, hidden=tuple(hidden)
    )


def _read(file: Path) -> Iterator[tuple[Name, str]]:
    """The settings of a file, if it is there; errors name the entry and never repeat its value."""
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        entries = dict(_flat(read_toml(file)))
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from None
    for name, value in entries.items():
        known = next((one for one in NAMES if one == name), None)
        if known is None:
            why = _unknown(name)
            raise InvalidInput(f"{file}: {why}")
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(f"{file}: {name} must be a text in quotes that is not empty")
        yield known, value.strip()


def _flat(tables: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", one) for inner, one in value.items())
        else:
            yield name, value


def _unknown(name: str) -> str:
    if any(word in name.lower() for word in ("key", "token", "secret", "password")):
        return (
            f"{name} does not belong into a file; keys come from the environment: {', '.join(KEYS.values())}"
        )
    return f"there is no setting {name!r}; there are {', '.join(NAMES)}"
