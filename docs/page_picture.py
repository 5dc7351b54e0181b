"""Makes pictures/page-*.png: the page of `recollect serve` over a small store, in a headless Chromium.

    python docs/page_picture.py

Needs Debian's chromium and chromium-driver, and selenium (the `dev` extra).
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from compare_example import NOTES, QUESTIONS
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

from recollect.interfaces.python.memory import Memory

PICTURES = Path(__file__).parent / "pictures"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


class Clock:
    """Two hours pass between any two events."""

    def __init__(self) -> None:
        self.now = 1_762_000_000_000_000

    def __call__(self) -> int:
        self.now += 7_200_000_000
        return self.now


def live(store: Path) -> int:
    """Half of the notes, all of the questions, the other half, and a change of mind; returns the seq before it."""
    with Memory.open(store, embedder="hash", clock=Clock()) as memory:
        names = list(NOTES)
        memory.remember_many([{"id": name, "content": NOTES[name]} for name in names[:12]])
        for question, wanted in QUESTIONS:
            answer = memory.recall(question, k=5)
            if wanted in {hit.id for hit in answer.hits}:
                memory.access(wanted, recall=answer.id)
        memory.remember_many([{"id": name, "content": NOTES[name]} for name in names[12:]])
        before = memory.status().head
        memory.revise("auth-store", "Auth sessions moved to DynamoDB; Postgres keeps only the audit trail")
        for question, _ in QUESTIONS[:6]:
            memory.recall(question, k=5)
        return before


def views(recall: str, memory: str, seq: int) -> dict[str, tuple[str, str, int, int, str]]:
    """Address, colour scheme, width, height and what must be seen, of each picture."""
    return {
        "page-ranking.png": (f"#/recall/{recall}/memory/{memory}", "light", 1500, 1080, "#detail .sentence"),
        "page-then-and-now.png": (
            f"#/recall/{recall}/view/then-and-now?a=@{seq}",
            "dark",
            1280,
            1250,
            ".bump .line",
        ),
        "page-formula.png": (f"#/recall/{recall}/view/formula", "light", 1280, 1080, "#centre .hit"),
        "page-phone.png": (f"#/recall/{recall}", "dark", 390, 1250, "#centre .hit"),
    }


def photograph(url: str, wanted: dict[str, tuple[str, str, int, int, str]], profile: str) -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    with webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver")) as browser:
        for name, (address, scheme, width, height, seen) in wanted.items():
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            browser.get("about:blank")
            browser.get(url + address)
            done = (
                "return document.querySelector(arguments[0]) && !document.querySelector('[aria-busy]')"
                " && !document.querySelector('[aria-label=\"not checked yet\"]')"
            )
            WebDriverWait(browser, 60).until(
                lambda driver, seen=seen, done=done: driver.execute_script(done, seen)
            )
            (PICTURES / name).write_bytes(browser.get_screenshot_as_png())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        seq = live(Path(folder) / "store")
        with Memory.open(Path(folder) / "store", embedder="hash") as memory:
            recall = memory.recalls(grep=QUESTIONS[0][0], limit=1).recalls[0]
        command = [sys.executable, "-m", "recollect", "serve", "--store", "store", "--embedder", "hash"]
        serving = subprocess.Popen(
            [*command, "--port", "0", "--read-only", "--json"], stdout=subprocess.PIPE, text=True, cwd=folder
        )
        try:
            assert serving.stdout is not None
            address = json.loads(serving.stdout.readline())
            assert recall.best is not None
            photograph(address["page"], views(recall.id, recall.best, seq), f"{folder}/profile")
        finally:
            serving.send_signal(signal.SIGINT)
            serving.wait()


if __name__ == "__main__":
    main()
