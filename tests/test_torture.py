"""`make torture` takes a proof that was skipped, or that ran no test, for a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import torture

ROOT = Path(__file__).parent.parent
SKIPPED = "import pytest\n\ndef test_a():\n    pytest.skip('no server here')\n"


@pytest.mark.parametrize(
    ("text", "status"), [("def test_a():\n    pass\n", 0), (SKIPPED, 1), ("", 5), ("def test_a():\n    assert 0\n", 1)]
)  # fmt: skip
def test_a_proof_counts_only_if_its_tests_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, status: int
) -> None:
    (tmp_path / "test_proof.py").write_text(text)
    monkeypatch.setattr(torture, "PROOFS", {"here": [str(tmp_path / "test_proof.py")]})
    monkeypatch.setattr(torture, "ROOT", tmp_path)
    assert torture._proofs() == status


def test_every_proof_names_tests_that_are_there() -> None:
    for name, tests in torture.PROOFS.items():
        for test in tests:
            path, _, function = test.partition("::")
            assert f"def {function}" in (ROOT / path).read_text("utf-8"), (name, test)
