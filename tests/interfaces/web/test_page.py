"""The page: self-contained, with a policy that runs nothing else; and, where there is a Chromium, used as a person does."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator

import pytest

from recollect.web.page import page

QUESTION = "where are auth sessions stored?"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1200,1000",
)  # fmt: skip
CHROMIUM, CHROMEDRIVER = shutil.which("chromium"), shutil.which("chromedriver")


def test_the_page_asks_nobody_but_its_server_and_parses_no_text_as_html():
    html = page().html
    assert set(re.findall(r"https?://[^'\"\s]+", html)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|\.src\s*=", html)
    assert not re.search(r"<[^>]+\s(on\w+|style)=", html.split("<script>")[0])


def test_the_policy_names_the_one_style_and_the_one_script(server):
    response = server.client.get("/")
    policy = response.headers["content-security-policy"]
    assert policy == page().policy
    assert "default-src 'none'" in policy
    assert policy.count("'sha256-") == 2
    assert "unsafe" not in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in server.client.get("/api/status").headers["content-security-policy"]


# --- in a browser ----------------------------------------------------------------------------------

in_a_browser = pytest.mark.skipif(
    not (CHROMIUM and CHROMEDRIVER), reason="needs Debian's chromium and chromium-driver (apt-get install)"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[object]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options=options, service=Service(CHROMEDRIVER)) as driver:
        yield driver


class Person:
    """What someone at the page does and sees."""

    def __init__(self, driver, url: str) -> None:
        self.driver = driver
        driver.execute_script("sessionStorage.clear()") if driver.current_url.startswith("http") else None
        driver.get("about:blank")
        driver.get_log("browser")  # what others who used this browser left in it is taken out
        driver.get(url)

    def find(self, selector: str):
        return self.driver.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)"
        return self.driver.execute_script(script, selector)

    def until(self, what: Callable[[], object]) -> object:
        from selenium.webdriver.support.wait import WebDriverWait

        return WebDriverWait(self.driver, 120, poll_frequency=0.05).until(lambda _: what())

    def ask(self, question: str) -> list[str]:
        self.driver.execute_script("document.getElementById('hits').replaceChildren()")
        box = self.find("#question")
        box.clear()
        box.send_keys(question + "\n")
        self.until(lambda: self.texts("#hits .text"))
        return self.texts("#hits .chip.id")

    def as_of(self, seq: int) -> None:
        self.driver.execute_script(
            "const slider = document.getElementById('when'); slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input'))", seq,
        )  # fmt: skip
        self.until(lambda: f"at @{seq}," in self.texts("#summary")[0])


@in_a_browser
def test_a_person_asks_travels_and_sees_why(server, browser):
    person = Person(browser, server.address["page"])
    person.until(lambda: "5 memories" in person.texts("#health")[0])
    head = server.get("/api/status")["head"]
    assert person.ask(QUESTION)[0] == "auth"
    assert "owned" not in browser.title
    assert any("<script>" in text for text in person.texts("#hits .text"))
    assert (
        browser.find_elements("css selector", "#hits img, #hits script, #timeline img, #timeline script")
        == []
    )

    person.find("#hits .hit").send_keys("\n")
    person.until(lambda: person.texts("#hits .sentence"))
    assert person.texts("#hits .sentence")[0].startswith("Ranked 1st")
    assert person.find("#hits .hit").get_attribute("aria-expanded") == "true"
    stages = len(server.get("/api/explain", q=QUESTION, id="auth")["stages"])
    assert len(person.texts("#hits .why table:last-of-type tbody tr")) >= stages

    person.find("#missing").send_keys("deploy\n")
    person.until(lambda: person.texts("#missed .sentence"))
    assert person.texts("#missed .sentence")[0]

    person.as_of(2)
    assert person.texts("#hits .chip.id") == ["auth"]
    assert "remembered auth" in str(
        person.until(lambda: "@2" in person.texts("#moment")[0] and person.texts("#moment")[0])
    )
    person.find("#when").send_keys("\ue014")  # the arrow to the right
    person.until(lambda: "at @3," in person.texts("#summary")[0])
    person.find("#now").click()
    person.until(lambda: f"at @{head}," in person.texts("#summary")[0])
    assert server.get("/api/status")["head"] == head

    assert browser.get_log("browser") == []


@in_a_browser
def test_a_person_records_a_recall_and_verifies_it(server, browser):
    person = Person(browser, server.address["page"])
    person.until(lambda: person.texts("#recalls .mini"))
    person.find("#recalls .mini").click()
    person.until(lambda: person.texts("#recalls .exact") == ["exact"])
    person.find("#verify-all").click()
    person.until(lambda: "exact" in person.texts("#verified")[0])
    before = server.get("/api/status")["recalls"]
    person.find("#record").click()
    person.ask("redis rate limiting")
    person.until(lambda: "recorded as r" in person.texts("#summary")[0])
    assert server.get("/api/status")["recalls"] == before + 1
    person.until(lambda: person.texts("#recalls .link")[0] == "redis rate limiting")


@in_a_browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1200, "dark")])
def test_it_fits_a_phone_and_follows_the_colour_scheme(server, browser, width, scheme):
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    person = Person(browser, server.address["page"])
    person.ask(QUESTION)
    person.find("#hits .hit").click()
    person.until(lambda: person.texts("#hits .sentence"))
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in re.findall(r"\d+", paper)[:3]) / 3
    assert (brightness > 128) == (scheme == "light")


@in_a_browser
def test_a_server_with_a_token_asks_for_it(start, browser):
    server = start("--token", "secret", "--read-only")
    person = Person(browser, server.address["url"])
    person.until(lambda: person.find("#token").is_displayed())
    person.find("#token").send_keys("secret\n")
    person.until(lambda: "read-only" in person.texts("#health")[0])
    assert not person.find("#record").is_displayed()
    browser.execute_script("sessionStorage.clear()")
    browser.get("about:blank")
    person = Person(browser, server.address["page"])
    person.until(lambda: "read-only" in person.texts("#health")[0])
    assert browser.current_url == server.address["url"] + "/"
