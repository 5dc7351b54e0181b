"""Makes pictures/serve.png: the page of `recollect serve` over a small store, in a headless Chromium.

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

PICTURE = Path(__file__).parent / "pictures" / "serve.png"
SIZE = {"width": 1180, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
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


def photograph(url: str, seq: int, profile: str) -> bytes:
    """The question asked as of a seq, its first hit open."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    with webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver")) as browser:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SIZE)
        browser.get(url)
        wait = WebDriverWait(browser, 30)

        def seen(script: str) -> None:
            wait.until(lambda driver: driver.execute_script(f"return {script}"))

        seen("document.querySelector('#recalls .mini')")
        browser.find_element("id", "question").send_keys(f"{QUESTIONS[0][0]}\n")
        seen("document.querySelector('#hits .hit')")
        browser.execute_script(
            "const slider = document.getElementById('when'); slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input'));"
            "document.querySelector('#recalls .mini').click()", seq,
        )  # fmt: skip
        seen(
            f"document.getElementById('summary').textContent.includes('at @{seq},') && document.querySelector('#recalls .exact')"
        )
        browser.find_element("css selector", "#hits .hit").click()
        seen("document.querySelector('#hits .sentence')")
        return browser.get_screenshot_as_png()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        seq = live(Path(folder) / "store")
        command = [sys.executable, "-m", "recollect", "serve", "--store", "store", "--embedder", "hash"]
        serving = subprocess.Popen(
            [*command, "--port", "0", "--read-only", "--json"], stdout=subprocess.PIPE, text=True, cwd=folder
        )
        try:
            assert serving.stdout is not None
            address = json.loads(serving.stdout.readline())
            PICTURE.write_bytes(photograph(address["page"], seq, f"{folder}/profile"))
        finally:
            serving.send_signal(signal.SIGINT)
            serving.wait()


if __name__ == "__main__":
    main()
