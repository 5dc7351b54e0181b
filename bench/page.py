"""The page over the incident of docs/examples with 100,000 memories, in a real Chromium: the first paint of an answer, and the river while it is dragged.

    python bench/page.py [--memories 100000]

Prints one line each: how long from opening the address of an answer until its bars are painted, first in a browser that
was never here, from a server that was just started, then in the page that is open; and how many milliseconds lie between
the frames while a handle of the river is dragged (the browser's own clock).
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

from recollect import Memory

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "examples"))
import incident

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1500,1100")
WATCH = """
window.painted = null;
window.began = performance.now();
new MutationObserver((_, me) => {
  if (!document.querySelector('#centre .bar')) return;
  me.disconnect();
  requestAnimationFrame(() => { window.painted = performance.now() - window.began; });
}).observe(document, { childList: true, subtree: true });
"""
PAINT = f"document.getElementById('centre').replaceChildren(); {WATCH} location.hash = arguments[0];"
DRAG = """
const done = arguments[0], handle = document.querySelector('.handle-b'), box = document.querySelector('.river').getBoundingClientRect();
const at = (share) => ({ pointerId: 1, bubbles: true, clientX: box.left + share * box.width, clientY: box.top + 5 });
handle.setPointerCapture = () => {};
handle.dispatchEvent(new PointerEvent('pointerdown', at(1)));
const gaps = []; let last = performance.now(), step = 0;
(function frame() {
  const now = performance.now(); gaps.push(now - last); last = now;
  handle.dispatchEvent(new PointerEvent('pointermove', at(1 - step / 120)));
  if (++step < 90) requestAnimationFrame(frame); else done(gaps.slice(1).sort((a, b) => a - b));
})();
"""


def fill(store: Path, memories: int) -> str:
    """Make the store of the incident, larger; return the recall that the complaint is about."""
    incident.make(store, incident.Size(memories=memories))
    with Memory.open(store, embedder="hash") as memory:
        return memory.recalls(grep="refund", limit=1).recalls[0].id


def measure(url: str, recall: str, profile: str) -> tuple[dict[str, float], list[float]]:
    """Seconds until the bars of each answer are painted, and the milliseconds between frames, sorted."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    service = Service(shutil.which("chromedriver") or "")
    with webdriver.Chrome(options=options, service=service) as browser:
        wait = WebDriverWait(browser, 120, poll_frequency=0.02)
        first = browser.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument", {"source": f"{WATCH} window.began = 0;"}
        )
        browser.get(f"{url}#/ask/who%20owns%20the%20invoice")
        seen = wait.until(lambda driver: driver.execute_script("return window.painted"))
        painted = {"a first visit": float(seen) / 1000}
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", first)
        wait.until(lambda driver: driver.execute_script("return document.querySelector('.river .lane')"))
        for what, address in (
            ("a recorded answer", f"#/recall/{recall}"), ("a new question", "#/ask/refund%20of%20a%20customer"),
            ("the answer of a past moment", f"#/recall/{recall}?b=@{int(recall[1:]) // 2}"),
        ):  # fmt: skip
            browser.execute_script(PAINT, address)
            seen = wait.until(lambda driver: driver.execute_script("return window.painted"))
            painted[what] = float(seen) / 1000
        return painted, browser.execute_async_script(DRAG)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--memories", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        recall = fill(Path(folder) / "store", given.memories)
        serving = subprocess.Popen(
            [sys.executable, "-m", "recollect", "serve", "--store", f"{folder}/store", "--embedder", "hash", "--port", "0", "--read-only", "--json"],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert serving.stdout is not None
            address = json.loads(serving.stdout.readline())
            painted, gaps = measure(address["page"], recall, f"{folder}/profile")
        finally:
            serving.send_signal(signal.SIGINT)
            serving.wait()
    for what, seconds in painted.items():
        print(f"{given.memories:,} memories: {what} painted after {seconds:.2f} s")
    print(f"dragging: {gaps[len(gaps) // 2]:.1f} ms between frames, {gaps[-1]:.1f} ms at worst")


if __name__ == "__main__":
    main()
