"""The Python on docs/python.md runs as it is printed, one block after the other in one folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCUMENT = (Path(__file__).parents[3] / "docs" / "python.md").read_text("utf-8")
BLOCKS = re.findall(r"^## (.+?)\n.*?```python\n(.*?)```", DOCUMENT, re.DOTALL | re.MULTILINE)
NEEDS = {"LangChain": "langchain_core", "LlamaIndex": "llama_index.core"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("python_docs")


@pytest.mark.parametrize(("heading", "code"), BLOCKS, ids=[heading for heading, _ in BLOCKS])
def test_the_block_runs_as_printed(heading: str, code: str, folder: Path, monkeypatch, capsys):
    if heading in NEEDS:
        pytest.importorskip(NEEDS[heading], reason=f"needs the extra of {heading}")
    monkeypatch.chdir(folder)
    if heading != BLOCKS[0][0] and not (folder / "store").exists():
        exec(compile(BLOCKS[0][1], "docs/python.md", "exec"), {"__name__": "docs"})
    exec(compile(code, "docs/python.md", "exec"), {"__name__": "docs"})
    printed = capsys.readouterr().out
    assert "Auth sessions live in Postgres" in printed or heading == "A server of your own"


def test_every_section_with_python_is_run():
    assert [heading for heading, _ in BLOCKS] == [
        "AsyncMemory",
        "A server of your own",
        "LangChain",
        "LlamaIndex",
    ]
