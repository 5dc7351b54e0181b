"""The pytest plugin: every expectation of a fixture is a test.

A folder that `recollect fixture` wrote is collected wherever it lies among the tests; `--recollect DIR` names one, or a
store with expectations, elsewhere, and runs only that unless tests are named too. `--recollect-formula F` asks under
another formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo, TerminalRepr

    from recollect.engine.expectations import Expectation
    from recollect.interfaces.python.memory import Memory

_MARK = "recollect-fixture.json"


class ExpectationFailed(Exception):
    """A question is not answered as expected; the message says what broke it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("recollect", "expectations about recorded questions")
    group.addoption(
        "--recollect", action="append", default=[], metavar="DIR", help="Run the expectations of this fixture or store."
    )  # fmt: skip
    group.addoption(
        "--recollect-formula", metavar="F", help="Ask under this formula: a name, a TOML file or name@digest."
    )


def pytest_configure(config: pytest.Config) -> None:
    named = [str(path) for path in _named(config)]
    for path in named:
        if not (Path(path) / "log").is_dir():
            raise pytest.UsageError(f"--recollect {path}: there is no store; `recollect fixture` makes one")
    if named:
        told = config.args_source is pytest.Config.ArgsSource.ARGS
        config.args = [*(config.args if told else ()), *named]


def _named(config: pytest.Config) -> list[Path]:
    return [Path(path).expanduser().absolute() for path in config.getoption("--recollect")]


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A fixture is collected as a whole; its files are none of pytest's business."""
    if path not in _named(parent.config) and not ((path / _MARK).is_file() and (path / "log").is_dir()):
        return None
    folder: StoreFolder = StoreFolder.from_parent(parent, path=path)
    return folder


def _opened(path: Path) -> Memory:
    """The store; a fixture needs no embedder."""
    from recollect.interfaces.python.memory import Memory  # noqa: PLC0415 (only where there is a fixture)

    return Memory.open(path, embedder=None) if (path / _MARK).is_file() else Memory.open(path)


class StoreFolder(pytest.Directory):
    """A fixture, or a store that was named."""

    def collect(self) -> Iterator[ExpectationItem]:
        with _opened(self.path) as memory:
            for expectation in memory.expectations():
                name = f"{expectation.name}: {expectation.expects}"
                yield ExpectationItem.from_parent(self, name=name, expectation=expectation)


class ExpectationItem(pytest.Item):
    """One expectation, asked again."""

    def __init__(self, *, expectation: Expectation, **given: object) -> None:
        super().__init__(**given)  # type: ignore[arg-type]  # pytest's own arguments
        self.expectation = expectation

    def runtest(self) -> None:
        formula = self.config.getoption("--recollect-formula")
        with _opened(self.path) as memory:
            report = memory.check(only=self.expectation.name, formula=formula)
        for failed in report.failed:
            raise ExpectationFailed(failed.sentence)

    def repr_failure(
        self,
        excinfo: ExceptionInfo[BaseException],
        style: object = None,  # noqa: ARG002 (pytest's signature)
    ) -> str | TerminalRepr:
        """The sentence, the question and the note; a traceback only for what is no failed expectation."""
        if not isinstance(excinfo.value, ExpectationFailed):
            return super().repr_failure(excinfo)
        asked, note = self.expectation.query, self.expectation.note
        lines = [f"{self.expectation.recall}: {asked}", str(excinfo.value), *([note] if note else [])]
        return "\n".join(lines)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name
