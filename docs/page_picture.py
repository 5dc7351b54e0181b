"""Makes pictures/page-*.png: the page of `recollect serve` over the incident of docs/examples, in a headless Chromium.

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
from typing import NamedTuple

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

from recollect.interfaces.python.memory import Memory

sys.path.insert(0, str(Path(__file__).parent / "examples"))
import incident

PICTURES = Path(__file__).parent / "pictures"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


MOVE = (
    "const slider = document.querySelector('[data-number$=\"weights.vector\"]');"
    "slider.value = 0; slider.dispatchEvent(new Event('input'))"
)
ASK = "[...document.querySelectorAll('.cross')].find((ring) => ring.ariaLabel.startsWith('handbook')).dispatchEvent(new MouseEvent('click'))"


class View(NamedTuple):
    """The address of a picture, its colours and size, what is done there, and what must be seen then."""

    address: str
    scheme: str
    width: int
    height: int
    seen: str
    script: str = ""


def views(recall: str) -> dict[str, View]:
    opened = f"#/recall/{recall}/memory/{incident.HANDBOOK}"
    return {
        "page-ranking.png": View(opened, "light", 1500, 1080, "#detail .sentence"),
        "page-then-and-now.png": View(
            f"#/recall/{recall}/view/then-and-now?a=@3000", "dark", 1280, 1420, ".told .sentence", ASK
        ),
        "page-formula.png": View(
            f"#/recall/{recall}/view/formula", "light", 1280, 1500, "#centre .report", MOVE
        ),
        "page-dream.png": View("#/view/dreams/dream/preview", "dark", 1280, 1000, "#centre .report"),
        "page-phone.png": View(opened, "dark", 390, 1250, "#detail .sentence"),
        "page-phone-light.png": View(
            f"#/recall/{recall}/view/then-and-now?a=@3000", "light", 390, 1250, ".bump .line"
        ),
    }


def photograph(url: str, wanted: dict[str, View], profile: str) -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    with webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver")) as browser:
        for name, (address, scheme, width, height, seen, script) in wanted.items():
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
            wait = WebDriverWait(browser, 120)
            if script:
                wait.until(lambda driver, done=done: driver.execute_script(done, ".slider, .cross"))
                browser.execute_script(script)
            wait.until(lambda driver, seen=seen, done=done: driver.execute_script(done, seen))
            (PICTURES / name).write_bytes(browser.get_screenshot_as_png())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        incident.make(Path(folder) / "store")
        with Memory.open(Path(folder) / "store", embedder="hash") as memory:
            recall = memory.recalls(grep="refund", limit=1).recalls[0].id
        command = [sys.executable, "-m", "recollect", "serve", "--store", "store", "--embedder", "hash"]
        serving = subprocess.Popen(
            [*command, "--port", "0", "--read-only", "--json"], stdout=subprocess.PIPE, text=True, cwd=folder
        )
        try:
            assert serving.stdout is not None
            address = json.loads(serving.stdout.readline())
            photograph(address["page"], views(recall), f"{folder}/profile")
        finally:
            serving.send_signal(signal.SIGINT)
            serving.wait()


if __name__ == "__main__":
    main()
