"""Golden stores under other conditions: the C library without FMA, other kernels, hash seeds, time zones, Pythons.

Several conditions at a time, for each run takes a few seconds; `make portability` tries each for itself, and the
machines and packages that are not at hand here (docs/exactness.md).
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RANKINGS = {
    "v1": "87b4b4f987e353ed40c0896d6bd2435b38bc8ac14bb7f9e88a6ac58ccf835b5d",
    "v2": "3a2bfe31896a13441e251a42fd0cfa2916acbf658b7e8e3599ae015228473da6",
    "v3": "2da3040601ce8fbc3de4997182760adc702c35c4d4684a1c5c34b5bba174ac38",
    "v4": "7764d1132220fad0db06f276bd3622e52e3d091ebe132ae4e2b88589dcd7b5de",
}
RECALLS = {"v1": 64, "v2": 112, "v3": 160, "v4": 192}
WITHOUT_FMA = "glibc.cpu.hwcaps=-FMA,-AVX2,-AVX2_Usable,-FMA_Usable"
X86 = platform.machine() in ("x86_64", "AMD64")


def replayed(python: list[str], **settings: str) -> dict[str, object]:
    run = subprocess.run(
        [*python, str(HERE / "replay_stores.py")],
        env=os.environ | settings, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found: dict[str, object] = json.loads(run.stdout)
    return found


def require_same(found: dict[str, object]) -> None:
    stores = {store["store"]: store for store in found["stores"]}
    assert {name: store["checked"] for name, store in stores.items()} == RECALLS
    assert {name: store["different"] for name, store in stores.items()} == {name: [] for name in RECALLS}
    complete = [name for name, store in stores.items() if not store["not_here"]]
    assert {name: stores[name]["rankings"] for name in complete} == {
        name: RANKINGS[name] for name in complete
    }
    if found["here"]["generator"] == "libstdc++":
        assert complete == sorted(RECALLS)


@pytest.mark.skipif(not X86, reason="the settings are those of x86-64")
@pytest.mark.parametrize(
    "settings",
    [
        {"GLIBC_TUNABLES": WITHOUT_FMA, "OPENBLAS_CORETYPE": "Prescott", "PYTHONHASHSEED": "0",
         "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
        {"OPENBLAS_CORETYPE": "Haswell", "PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "C",
         "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR", "PYTHONUTF8": "0"},
    ],
    ids=["without FMA and AVX", "with AVX2, in another place"],
)  # fmt: skip
def test_every_recall_replays_under_other_libraries_and_settings(settings: dict[str, str]):
    require_same(replayed([sys.executable, "-W", "ignore"], **settings))


def test_every_recall_replays_without_assertions():
    require_same(replayed([sys.executable, "-O"], PYTHONHASHSEED="4242"))


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_every_recall_replays_on_another_python(version: str):
    python = ROOT / "build" / "portability" / f"python{version}" / "bin" / "python"
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        pytest.skip(f"these tests run on Python {version}")
    if not python.exists():
        pytest.skip(f"no Python {version} with our packages here; `make portability` sets one up")
    require_same(replayed([str(python)]))


def test_on_windows_the_import_says_in_one_line_that_it_does_not_run_there():
    code = "import sys; sys.platform = 'win32'; import recollect"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-1]
    assert (
        last
        == "ImportError: Recollect does not run on Windows: its log needs POSIX file locks; use it in WSL"
    )


def test_the_page_and_the_readme_say_what_was_seen():
    page = (ROOT / "docs" / "exactness.md").read_text("utf-8")
    lines = page.partition("<!-- table -->\n")[2].partition("<!-- end of table -->")[0].splitlines()[2:]
    seen = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if "not tried" not in line
    ]
    assert len(seen) >= 15
    assert {differences for _, _, differences, *_ in seen} == {"0"}
    recalls = f"{sum(RECALLS.values())} recalls"
    assert all(trials.startswith(recalls) or "not verifiable here" in trials for _, trials, *_ in seen)
    assert recalls in (ROOT / "README.md").read_text("utf-8")
