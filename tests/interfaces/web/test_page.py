"""The page: its files send requests to their own server only; where there is a Chromium, every view is used as a person does."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from urllib.parse import quote

import msgspec
import pytest

from recollect.engine.bars import recorded_bars
from recollect.interfaces.python.memory import Memory
from recollect.web import assets

QUESTION = "where are auth sessions stored?"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1400,1100",
)  # fmt: skip
AWKWARD_IDS = (".", "..", "@3", "r6", "x", "x/history")
PATIENCE_S = 300  # longer than any machine needs
CHROMIUM, CHROMEDRIVER = shutil.which("chromium"), shutil.which("chromedriver")


def test_the_page_sends_requests_to_its_own_server_only_and_parses_no_text_as_html():
    for name in (assets.PAGE, *assets.names()):
        text = assets.text(name)
        assert set(re.findall(r"https?://[^'\"\s]+", text)) <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|\.src\s*=", text
        ), name
    assert not re.search(r"<[^>]+\s(on\w+|style)=|<style|<script>", assets.text(assets.PAGE))


def test_the_policy_runs_the_servers_own_files_alone(server):
    for path in ("/", "/page/main.js", "/page/page.css"):
        response = server.client.get(path)
        policy = response.headers["content-security-policy"]
        assert policy == assets.POLICY
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
    assert server.client.get("/page/..%2fapp.py").status_code == 404
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
        driver.set_script_timeout(PATIENCE_S)
        yield driver


class Person:
    """What someone at the page does and sees."""

    def __init__(self, driver, url: str, address: str = "") -> None:
        self.driver = driver
        driver.execute_script("sessionStorage.clear()") if driver.current_url.startswith("http") else None
        driver.get("about:blank")
        driver.get_log("browser")  # what others who used this browser left in it is taken out
        self.url = url.split("#", maxsplit=1)[0]
        driver.get(url if not address else self.url + address)

    def go(self, address: str) -> None:
        """Change the address, and wait until the page has heard of it."""
        self.driver.execute_async_script(
            "const [address, done] = arguments, before = location.href;"
            "addEventListener('hashchange', () => done(), { once: true });"
            "location.hash = address; if (location.href === before) done()",
            address,
        )

    def find(self, selector: str):
        return self.driver.find_element("css selector", selector)

    def click(self, selector: str) -> None:
        """Click what is there at that moment: between a look and a click the page may draw it anew."""
        script = (
            "const found = document.querySelector(arguments[0]);"
            "found?.click ? found.click() : found?.dispatchEvent(new MouseEvent('click'));"
            "return Boolean(found)"
        )
        self.until(lambda: self.driver.execute_script(script, selector))

    def type(self, selector: str, keys: str) -> None:
        self.until(lambda: (self.find(selector).send_keys(keys), True))

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)"
        return self.driver.execute_script(script, selector)

    def ids(self, selector: str = "#centre .hits:not(.losers) .hit") -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((node) => node.dataset.id)"
        return self.driver.execute_script(script, selector)

    def run(self, module: str, expression: str, *given: object):
        """What a function of one of the page's modules gives for these values."""
        script = (
            "const done = arguments[arguments.length - 1]; const given = [...arguments].slice(0, -1);"
            f"import(new URL('page/{module}', document.baseURI)).then((m) => done({expression}), (e) => done(String(e)))"
        )
        return self.driver.execute_async_script(script, *given)

    def until(self, what: Callable[[], object]) -> object:
        from selenium.common import exceptions
        from selenium.webdriver.support.wait import WebDriverWait

        redrawn = (
            exceptions.NoSuchElementException, exceptions.StaleElementReferenceException,
            exceptions.ElementNotInteractableException, IndexError,
        )  # fmt: skip
        waiting = WebDriverWait(self.driver, PATIENCE_S, poll_frequency=0.05, ignored_exceptions=redrawn)
        try:
            return waiting.until(lambda _: what())
        except exceptions.TimeoutException:
            raise AssertionError(self.sees()) from None

    def sees(self) -> str:
        """The page as it is when a test fails."""
        html = self.driver.execute_script("return document.body.outerHTML.slice(0, 20000)")
        return f"{self.driver.current_url}\n{self.driver.get_log('browser')}\n{html}"

    def complaints(self) -> list[str]:
        """What the browser reports of the page, but that it was told to wait, which others may have caused."""
        messages = [entry["message"] for entry in self.driver.get_log("browser")]
        return [message for message in messages if "429" not in message]

    def still(self) -> None:
        """Nothing is being asked for any more."""
        self.until(lambda: not self.driver.find_elements("css selector", "[aria-busy]"))


@in_a_browser
def test_a_recorded_recall_is_shown_as_it_was_recorded_bit_for_bit(page_world, browser):
    person = Person(browser, page_world.address["page"])
    recalls = page_world.get("/api/recalls", limit=1000)["recalls"]
    person.until(lambda: len(person.texts("#inbox .recalls li")) == min(60, len(recalls)))
    for one in recalls[:8]:
        person.go(f"#/recall/{one['id']}")
        record = page_world.get(f"/api/recalls/{one['id']}")
        person.until(lambda id_=one["id"]: id_ in "".join(person.texts("#centre .about p")))
        person.still()
        assert person.ids()[: len(record["hits"])] == [hit["id"] for hit in record["hits"]]
    assert person.complaints() == []


@in_a_browser
def test_the_list_of_every_recorded_recall_equals_the_record_and_its_parts_sum_to_the_scores(
    page_world, page_store, browser
):
    person = Person(browser, page_world.address["page"])
    drawn = (
        "given[0].map((bars) => { const place = document.createElement('div');"
        " place.append(...m.ranking(bars, { href: () => '#', state: {} }).flat(3).filter(Boolean));"
        " return [...place.querySelectorAll('.hits:not(.losers) .hit')].map((hit) =>"
        " [hit.dataset.id, Number(hit.querySelector('.numbers tr:last-child .n').textContent)]); })"
    )
    exact = 0
    with Memory.open(page_store, embedder="hash") as memory:
        seqs = [recall.id for recall in memory.recalls(limit=1000).recalls]
        every = [recorded_bars(memory.store, id_) for id_ in seqs]
        facts = [memory.store.event(int(id_[1:])).fact for id_ in seqs]
    shown = person.run("ranking.js", drawn, [msgspec.to_builtins(bars) for bars in every])
    for bars, fact, page in zip(every, facts, shown, strict=True):
        assert [id_ for id_, _ in page] == [bar.id for bar in bars.hits]
        for (_, summed), bar in zip(page, bars.hits, strict=True):
            assert abs(summed - bar.score) <= 1e-9
        record = list(zip(fact.ids, fact.scores, strict=True))
        assert bars.exact == ([(bar.id, bar.score) for bar in bars.hits] == record)
        exact += bool(bars.exact)
        for bar in (*bars.hits, *bars.losers):
            assert bar.score is None or abs(math.fsum(part.amount for part in bar.parts) - bar.score) <= 1e-9
            assert not {part.column for part in bar.parts} & {"other", "rest", ""}
    verified = page_world.get("/api/verify")
    assert (len(every), verified["different"]) == (300, 0)
    assert exact >= verified["exact_count"] > 100


@in_a_browser
def test_a_person_asks_opens_a_hit_sees_why_and_why_not(server, browser):
    person = Person(browser, server.address["page"])
    person.until(lambda: "5 memories" in person.texts("#store")[0])
    head = server.get("/api/status")["head"]
    person.type("#question", QUESTION + "\n")
    person.until(person.ids)
    assert person.ids()[0] == "auth"
    assert "owned" not in browser.title
    assert any("<script>" in text for text in person.texts("#centre .said"))
    assert browser.find_elements("css selector", "main img, main script") == []
    person.type("#centre .hit .row", "\n")
    person.until(lambda: person.texts("#detail .sentence"))
    assert person.texts("#detail .sentence")[0].startswith("Ranked 1st")
    stages = len(server.get("/api/explain", q=QUESTION, id="auth")["stages"])
    assert len(person.texts("#detail .why tbody tr")) == stages
    person.go(f"#/ask/{quote(QUESTION)}/memory/deploy")
    person.until(
        lambda: "deploy" in "".join(person.texts("#detail h2")) and person.texts("#detail .sentence")
    )
    assert server.get("/api/status")["head"] == head  # nothing was recorded
    assert person.complaints() == []


@in_a_browser
def test_the_river_steps_event_by_event_and_the_question_follows(page_world, browser):
    recall = page_world.get("/api/recalls", grep="refund", limit=1)["recalls"][0]
    person = Person(browser, page_world.address["page"], f"#/recall/{recall['id']}?b=@1200")
    person.until(lambda: person.texts("#river .moment") and "@1200" in person.texts("#river .moment")[0])
    person.still()
    assert person.find(".handle-b").get_attribute("aria-valuenow") == "1200"
    person.type(".handle-b", "\ue014")  # the arrow to the right
    person.until(lambda: "@1201" in person.texts("#river .moment")[0])
    person.still()
    browser.switch_to.active_element.send_keys("\ue014\ue012")  # it has the focus still
    person.until(lambda: "b=@1201" in browser.current_url)
    person.until(lambda: "@1201" in person.texts("#river .moment")[0])
    person.still()
    bars = page_world.get("/api/bars", recall=recall["id"], at="@1201")
    person.until(lambda: person.ids() == [bar["id"] for bar in bars["hits"]])
    assert "not the recall's own" in "".join(person.texts("#centre p.dim"))
    counts = person.driver.execute_script("return document.querySelectorAll('.river .lane').length")
    assert counts == 5
    person.click("#river .tools button:nth-child(4)")  # zoom in
    person.until(
        lambda: (
            "zoom=" in browser.current_url and person.find("#river .tools button:nth-child(5)").is_enabled()
        )
    )
    person.still()
    spans = person.texts("#river .ends span")
    browser.refresh()
    person.until(lambda: person.texts("#river .ends span") == spans)
    person.click("#river .tools button:nth-child(1)")  # play
    person.until(lambda: "b=@1201" not in browser.current_url)
    person.until(lambda: person.texts("#river .tools button:nth-child(1)") == ["Stop"])
    person.click("#river .tools button:nth-child(1)")
    person.until(lambda: person.texts("#river .tools button:nth-child(1)") == ["Play"])
    assert person.complaints() == []


@in_a_browser
def test_the_inbox_finds_by_every_filter_and_older_pages_follow(page_world, browser):
    one = page_world.get("/api/recalls", grep="refund", limit=1)["recalls"][0]
    person = Person(browser, page_world.address["page"])
    wanted = {
        "grep": "REFUND", "since": "2026-02-20", "until": "2026-02-25", "project": "billing", "session": one["session"],
        "by": one["formula"], "actor": "nobody", "held": "handbook-refunds", "empty": "true", "rated": "bad",
    }  # fmt: skip
    for name, value in wanted.items():
        person.go(f"#/?{name}={quote(value)}")
        found = page_world.get("/api/recalls", limit=60, **{"formula" if name == "by" else name: value})
        ids = [recall["id"] for recall in found["recalls"]]
        script = "return [...document.querySelectorAll('#inbox li')].map((node) => node.dataset.recall)"
        person.until(lambda ids=ids, script=script: browser.execute_script(script) == ids)
    person.go("#/")
    person.until(lambda: len(person.texts("#inbox li")) == 60)
    person.click("#inbox .more")
    person.until(lambda: len(person.texts("#inbox li")) == 120)
    person.click("#inbox .more")
    person.until(lambda: len(person.texts("#inbox li")) == 180)
    assert len(set(browser.execute_script(script))) == 180
    assert person.complaints() == []


@in_a_browser
def test_a_memory_shows_its_versions_answers_dreams_links_and_impact(page_world, browser):
    recall = page_world.get("/api/recalls", grep="refund", limit=1)["recalls"][0]
    address = f"#/recall/{recall['id']}/memory/handbook-refunds?b=@4000"
    person = Person(browser, page_world.address["page"], address)
    person.until(lambda: person.texts("#detail .sentence") and person.texts("#detail .dreamt li"))
    person.still()
    bars = page_world.get("/api/bars", recall=recall["id"], at="@4000")
    bar = next(bar for bar in bars["hits"] if bar["id"] == "handbook-refunds")
    assert f"Why it is {bar['rank']} of {bars['candidates']}" in person.texts("#detail .why h3")
    shown = page_world.get("/api/show/handbook-refunds")
    assert len(person.texts("#detail .versions .versions li")) == len(shown["versions"])
    assert len(person.texts("#detail .answered li")) == len(shown["recalls"])
    assert "→" in person.texts("#detail .dreamt li")[0]
    person.click("#detail .memo button")
    person.until(lambda: "recorded answers held it" in "".join(person.texts("#detail .impact")))
    assert person.complaints() == []


@in_a_browser
def test_an_attested_recall_is_explained_as_a_re_ranking_of_what_is_left(page_world, browser):
    recalls = page_world.get("/api/recalls", held="refund-window", limit=300)["recalls"]
    told = (page_world.get(f"/api/recalls/{one['id']}") for one in recalls)
    seen = next(one for one in told if one["replayed"]["verdict"] == "attested" and len(one["hits"]) > 1)
    hit = seen["hits"][0]
    person = Person(browser, page_world.address["page"], f"#/recall/{seen['id']}/memory/{hit['id']}")
    person.until(lambda: person.texts("#detail .sentence") and person.texts("#centre .note"))
    assert f"recorded at rank 1 with {hit['score']:.6g}" in person.texts("#detail .note")[0]
    assert "re-ranking of what is left" in person.texts("#detail .note")[0]
    assert not any(".." in text or "differs" in text for text in person.texts("#columns .note"))


@in_a_browser
def test_what_every_dream_made_of_a_memory_can_be_read(page_world, browser):
    dreams = page_world.get("/api/dreams")
    shown = [page_world.get(f"/api/show/{one['id']}")["changes"] for one in dreams]
    ids = [id_ for changes in shown for id_ in {one["id"] for one in changes} - {"*"}]
    most = max(sorted(set(ids)), key=ids.count)
    assert ids.count(most) > 5  # so many are read at once
    person = Person(
        browser, page_world.address["page"], f"#/ask/{quote(QUESTION)}/memory/{quote(most, safe='')}"
    )
    person.until(lambda: person.texts("#detail .dreamt button"))
    person.still()
    older = len(person.texts("#detail .dreamt button"))
    assert older == len(person.texts("#detail .dreamt li")) - 5
    person.click("#detail .dreamt button")
    person.until(lambda: len(person.texts("#detail .dreamt button")) == older - 1)
    read = [text for text in person.texts("#detail .dreamt li") if "before → after" not in text]
    assert len(read) == 6
    assert all("→" in text for text in read)


@in_a_browser
def test_then_and_now_stand_beside_each_other_and_a_crossing_says_why(page_world, browser):
    recall = page_world.get("/api/recalls", grep="refund", limit=1)["recalls"][0]
    person = Person(browser, page_world.address["page"], f"#/recall/{recall['id']}/view/then-and-now?a=@700")
    person.until(lambda: person.texts(".bump .line"))
    then = page_world.get("/api/bars", recall=recall["id"], at="@700", losers=0)
    assert person.ids(".beside .card:first-child li") == [bar["id"] for bar in then["hits"]]
    person.click(".bump .cross")
    person.until(lambda: person.texts(".told p"))
    assert "@" in person.texts(".told p")[0]
    browser.refresh()  # an open crossing is part of the address
    person.until(lambda: person.texts(".told .sentence"))
    person.click("[aria-label^='handbook-refunds came in']")
    person.until(lambda: any("handbook-refunds came in" in text for text in person.texts(".told p")))
    person.click(".told button")
    person.until(
        lambda: any("handbook-refunds" in text for text in person.texts(".told .event a ~ *, .told .event"))
    )
    assert "↓ not in the answer" in person.texts(".bump .axis")
    stops = "return [...document.querySelectorAll('.bump [tabindex=\"0\"]')].length"
    assert browser.execute_script(stops) == 1 < len(person.texts(".bump .mark, .bump .cross"))
    browser.execute_script("document.querySelector('.bump [tabindex=\"0\"]').focus()")
    first = browser.execute_script("return document.activeElement.ariaLabel")
    browser.switch_to.active_element.send_keys("\ue014")
    assert browser.execute_script("return document.activeElement.ariaLabel") != first
    assert browser.execute_script(stops) == 1
    assert f"A @{then['basis']}" in "".join(person.texts(".bump .axis"))  # the dream was not over at @700
    dots = browser.execute_script("return [...document.querySelectorAll('.mark')].map((n) => n.ariaLabel)")
    assert any("superseded" in dot for dot in dots), dots
    assert person.complaints() == []


@in_a_browser
def test_then_and_now_chooses_a_says_what_moment_is_seen_and_puts_the_earlier_first(page_world, browser):
    recall = page_world.get("/api/recalls", grep="refund", limit=1)["recalls"][0]
    basis = page_world.get(f"/api/recalls/{recall['id']}")["basis"]
    person = Person(browser, page_world.address["page"], f"#/recall/{recall['id']}/view/then-and-now")
    person.until(lambda: person.texts(".moments"))
    assert f"A is @{basis}," in person.texts(".moments")[0]
    assert "what the recorded answer saw" in person.texts(".moments")[0]
    person.go(f"#/ask/{quote(QUESTION)}/view/then-and-now?b=@3000")
    person.until(lambda: "half of the events before B" in "".join(person.texts(".moments")))
    assert "1970" not in "".join(person.texts("#centre h3, #centre .axis"))
    dream = page_world.get("/api/dreams")[0]
    inside = dream["began"] + 3
    person.go(f"#/ask/{quote(QUESTION)}/view/then-and-now?a=@{inside}&b=@900")
    person.until(lambda: f"(@{inside} lies inside a batch" in "".join(person.texts(".moments")))
    assert f"A is @{dream['began'] - 1} " in person.texts(".moments")[0]
    assert "A lies after B" in person.texts(".moments")[0]
    assert [text[0] for text in person.texts(".beside h3")] == ["B", "A"]
    person.go(f"#/ask/{quote(QUESTION)}/view/then-and-now?a=@0&b=@900")
    person.until(lambda: "before the first event" in "".join(person.texts(".beside h3")))
    assert "1970" not in "".join(person.texts("#centre h3, #centre .axis"))
    assert person.complaints() == []


@in_a_browser
def test_a_slider_ranks_the_question_again_and_the_recorded_traffic(page_world, browser):
    recall = page_world.get("/api/recalls", grep="refund", limit=1)["recalls"][0]
    person = Person(browser, page_world.address["page"], f"#/recall/{recall['id']}/view/formula")
    head = page_world.get("/api/status")["head"]
    person.until(lambda: person.texts(".slider") and person.ids())
    before = person.texts("#centre .hit .score")
    browser.execute_script(
        "const slider = document.querySelector('[data-number$=\"weights.vector\"]');"
        "slider.value = 0; slider.dispatchEvent(new Event('input'))"
    )
    person.until(lambda: person.texts("#centre .hit .score") not in ([], before))
    person.until(
        lambda: (
            "vector = 0.0" in browser.execute_script("return document.querySelector('textarea.mono').value")
        )
    )
    person.until(lambda: person.texts("#centre .report") and "tried=" in browser.current_url)
    assert "of the questions get another first answer" in person.texts("#centre [role=status] p")[0]
    assert any("95 % interval" in text for text in person.texts("#centre [role=status] th"))
    scores = person.texts("#centre .hit .score")
    browser.refresh()  # the formula that is tried is part of the address
    person.until(lambda: person.texts("#centre .report") and person.texts("#centre .hit .score") == scores)
    browser.execute_script(
        "window.saved = []; URL.createObjectURL = (blob) => { blob.text().then((text) => saved.push(text)); return '#'; };"
        "HTMLAnchorElement.prototype.click = () => {}"
    )
    person.click("#centre .report")
    assert "<!doctype html>" in person.until(lambda: browser.execute_script("return window.saved[0]")).lower()
    assert page_world.get("/api/status")["head"] == head
    assert person.complaints() == []


@in_a_browser
def test_links_and_typed_words_keep_what_changed_after_they_were_drawn(server, browser):
    person = Person(browser, server.address["page"], f"#/ask/{quote(QUESTION)}/memory/redis")
    person.until(lambda: person.ids() and person.texts("#detail .sentence"))
    person.still()
    person.find("#inbox summary").click()
    person.find("#inbox input[name=grep]").send_keys("auth\n")
    person.until(lambda: "grep=auth" in browser.current_url)
    person.click("#centre .hit[data-id=auth] .row")
    person.until(lambda: "memory/auth?" in browser.current_url)
    person.click("#centre .tabs a:nth-child(2)")
    person.until(lambda: browser.current_url.endswith("/memory/auth/view/then-and-now?grep=auth"))
    person.click("#detail .bartop a")  # close
    person.until(lambda: browser.current_url.endswith("/view/then-and-now?grep=auth"))
    person.until(lambda: person.texts("#centre .tabs [aria-current]") == ["Then and now"])
    person.find("#question").send_keys(" typed")
    person.click("#river .tools button:nth-child(2)")  # an event back
    person.until(lambda: "b=@" in browser.current_url)
    person.still()
    assert person.find("#question").get_attribute("value") == QUESTION + " typed"


@in_a_browser
def test_a_bad_address_says_so_and_shows_nothing_of_another_question(server, browser):
    person = Person(browser, server.address["page"], f"#/ask/{quote(QUESTION)}")
    person.until(person.ids)
    person.go("#/recall/%?since=never&zoom=never")
    person.until(lambda: len(person.texts("#columns .problem, #river .problem")) == 3)
    assert person.ids() == person.texts("#inbox li") == []
    person.click("#river button")  # the whole log
    person.click("#inbox button[type=button]")  # without filters
    person.until(lambda: person.texts("#river .handle") and person.texts("#inbox li"))
    assert person.texts("#inbox .problem, #river .problem") == []


@in_a_browser
def test_an_answer_that_failed_once_is_asked_for_again(server, browser):
    person = Person(browser, server.address["page"], f"#/ask/{quote(QUESTION)}")
    person.until(person.ids)
    fails = (
        "const real = window.fetch; let left = 1; window.fetch = (url, ...rest) =>"
        " String(url).includes(arguments[0]) && left-- > 0 ? arguments[1] ?"
        ' Promise.resolve(new Response(\'{"error": "busy"}\', { status: 503 })) : Promise.reject(new TypeError()) : real(url, ...rest)'
    )
    browser.execute_script(fails, "api/bars", True)
    person.find("#centre .first").click()  # the same question again
    person.until(lambda: person.texts("#centre > .problem") == ["busy"])
    person.find("#centre .first").click()
    person.until(lambda: person.ids() and not person.texts("#centre .problem"))
    browser.execute_script(fails, "api/bars", False)  # one connection breaks; the stream of events does not
    person.go(f"#/ask/{quote(QUESTION)}?k=2")
    person.until(lambda: len(person.ids()) == 2 and not person.find("#gone").is_displayed())


@in_a_browser
def test_play_ends_when_b_is_moved_otherwise_and_a_drag_outlives_new_events(server, browser):
    from selenium.webdriver.common.action_chains import ActionChains

    person = Person(browser, server.address["page"], "#/?b=@1")
    person.click("#river .tools button")  # play
    person.until(lambda: browser.current_url[-4:] != "b=@1")
    home = "document.querySelector('.handle-b').dispatchEvent(new KeyboardEvent('keydown', { key: 'Home' }))"
    browser.execute_script(home)
    person.until(lambda: person.texts("#river .tools button")[0] == "Play")
    person.still()
    assert browser.current_url.endswith("b=@0")
    ActionChains(browser).click_and_hold(person.find(".handle-b")).move_by_offset(100, 0).perform()
    person.until(lambda: "B @" in person.texts("#river .moment")[0])
    server.send("POST", "/api/recall", {"q": "asked meanwhile"})
    head = server.get("/api/status")["head"]
    person.until(lambda: f"{head} events" in person.texts("#store")[0])
    ActionChains(browser).move_by_offset(400, 0).release().perform()
    person.until(lambda: not browser.current_url.endswith("b=@0"))


@in_a_browser
def test_the_formula_that_is_seen_is_the_one_that_is_adopted(server, browser):
    person = Person(browser, server.address["page"], f"#/ask/{quote(QUESTION)}/view/formula")
    person.until(lambda: person.texts(".slider") and person.ids())
    browser.execute_script("window.confirm = () => true")
    change = (
        "const text = document.querySelector('textarea.mono'); text.value = text.value.replace(/name = .*/, arguments[0]);"
        "text.dispatchEvent(new Event('input')); document.querySelector('#centre textarea + p button:last-child').click()"
    )
    head = server.get("/api/status")["head"]
    browser.execute_script(change, "name = broken")
    person.until(lambda: person.texts("#centre textarea ~ [role=status] .problem"))
    assert server.get("/api/status")["head"] == head
    browser.execute_script(change, 'name = "mine"')
    person.until(lambda: "is in force" in person.texts("#centre textarea ~ [role=status]")[0])
    assert server.get("/api/status")["formula"].startswith("mine@")
    person.until(lambda: person.texts("#centre .report") and "tried=" in browser.current_url)
    person.click("#centre .hit .row")  # what is tried stays
    person.until(lambda: "memory/" in browser.current_url)
    assert "tried=" in browser.current_url


@in_a_browser
def test_dreams_expectations_and_the_verdict_are_shown_in_the_words_of_the_engine(page_world, browser):
    person = Person(browser, page_world.address["page"], "#/view/dreams")
    person.click("#centre .first")
    person.until(lambda: any("Preview: nothing was changed" in text for text in person.texts("#centre p")))
    assert person.texts("#centre .answers li")
    dream = page_world.get("/api/timeline", type="dream.ended", limit=1)["events"][0]["summary"].split()[1]
    assert len(person.texts("#centre .past li")) == len(page_world.get("/api/dreams")) == 20
    person.click("#centre .past a")
    person.until(lambda: dream in "".join(person.texts("#centre .report b")))
    effect = page_world.get(f"/api/dreams/{dream}/effect")
    assert len(person.texts("#centre .answers li")) == len(effect)
    shown = page_world.get(f"/api/show/{dream}")
    assert bool(effect) == (shown["metrics"]["rbo@0.9"] < 1.0)
    assert sum(count for _, count in shown["phases"]) == len(shown["changes"])
    assert len(person.texts("#centre .report summary")) >= len(shown["phases"])
    person.go("#/view/expectations")
    person.until(lambda: person.texts("#centre .broken"))
    report = page_world.get("/api/check")
    assert len(person.texts("#centre .holds")) == len(report["passed"])
    assert len(person.texts("#centre .broken")) == len(report["failed"])
    person.click("#verify")
    verified = page_world.get("/api/verify")
    person.until(lambda: verified["sentence"] in person.texts("#verdict")[0])
    assert person.texts("#verdict .verdict") == [verified["verdict"]]
    assert f"{verified['exact_count']} exact" in person.texts("#verdict")[0]
    assert person.complaints() == []


@in_a_browser
def test_every_address_survives_a_reload_and_the_way_back(page_world, browser):
    recall = page_world.get("/api/recalls", grep="refund", limit=1)["recalls"][0]
    memory = page_world.get(f"/api/recalls/{recall['id']}")["hits"][0]["id"]
    address = f"#/recall/{recall['id']}/memory/{memory}?a=@900&b=@1500&formula=reverie"
    person = Person(browser, page_world.address["page"], address)
    person.until(lambda: person.ids() and person.texts("#detail .sentence"))
    person.until(lambda: "@1500" in person.texts("#river .moment")[0])
    person.still()
    seen = (person.ids(), person.texts("#detail .sentence"), person.texts("#river .moment"))
    browser.refresh()
    person.until(lambda: person.ids() and person.texts("#detail .sentence"))
    person.still()
    person.until(
        lambda: (person.ids(), person.texts("#detail .sentence"), person.texts("#river .moment")) == seen
    )
    assert person.run("address.js", "m.format(m.parse(given[0]))", address) == address
    person.go("#/view/dreams")
    person.until(lambda: "Dreams" in person.texts("#centre h2"))
    browser.back()
    person.until(lambda: person.ids() == seen[0])


@in_a_browser
def test_charts_are_functions_of_data(server, browser):
    person = Person(browser, server.address["page"])
    parts = [{"column": "vector", "amount": 0.5, "factor": None}, {"column": "words", "amount": 0.25, "factor": None},
             {"column": "strength", "amount": -0.15, "factor": 0.8}]  # fmt: skip
    found = person.run("bars.js", "m.segments(given[0])", parts)
    assert [(one["from"], one["to"], one["cut"]) for one in found] == [
        (0, 0.5, False), (0.5, 0.75, False), (pytest.approx(0.75 - 0.15), 0.75, True)
    ]  # fmt: skip
    assert person.run("bars.js", "m.total(given[0])", parts) == pytest.approx(0.5 + 0.25 - 0.15)
    assert person.run("bars.js", "m.widest([{ parts: given[0] }])", parts) == 0.75
    assert [person.run("bars.js", "m.hue(given[0])", name) for name in ("cosine", "lexical", "half_life_recency/2", "zz")] == [
        "meaning", "words", "time", "plain"
    ]  # fmt: skip
    assert person.run("river.js", "m.spanOf([2, 4, 6, 9], given[0])", 5) == 2
    assert person.run("river.js", "m.seqAt({ upto: [2, 4, 6, 9] }, given[0])", 0.5) == 6
    lines = {
        "seqs": [1, 5],
        "lines": [{"id": "a", "ranks": [1, 2], "marks": []}, {"id": "b", "ranks": [2, 1], "marks": []}],
    }
    assert person.run("bump.js", "m.crossings(given[0])", lines) == [{"place": 1, "up": "b", "down": "a"}]
    lines["lines"] = [
        {"id": "a", "ranks": [1, None], "marks": []},
        {"id": "b", "ranks": [None, 1], "marks": []},
    ]
    assert person.run("bump.js", "m.crossings(given[0]).map(m.crossed)", lines) == [
        "a dropped out",
        "b came in",
    ]
    assert person.run("bump.js", "m.crossings(given[0]).map((one) => m.mover(given[0], one))", lines) == [
        {"id": "a", "top": 1}, {"id": "b", "top": 1}
    ]  # fmt: skip
    timed = {**lines, "seqs": [0, 3, 7], "at": ["1970-01-01T00:00", "2026-02-10T08:00", "2026-02-11T09:30"]}
    assert person.run("bump.js", "m.ticks(given[0])", timed) == [
        {"place": 0, "seq": 0, "time": "empty"}, {"place": 1, "seq": 3, "time": "2026-02-10 08:00"},
        {"place": 2, "seq": 7, "time": "2026-02-11 09:30"},
    ]  # fmt: skip
    ranks = {"lines": [{"id": "a", "ranks": [1, 3], "marks": []}]}
    assert person.run("bump.js", "m.rows(given[0], 12)", ranks) == ["1", "2", "3", "not ranked"]
    assert person.run("bump.js", "m.rows(given[0], 2)", ranks) == ["1", "2", "below 2, or not ranked"]
    kinds = person.run("bump.js", "Array.from({ length: 24 }, (_, number) => m.kind(number))")
    assert len(set(kinds)) == 24
    assert person.run("then_and_now.js", "[[5, 9], [9, 9], [12, 9], [undefined, 9], [0, 1]].map((one) => m.chosen(...one))") == [
        5, 4, 4, 4, 1
    ]  # fmt: skip
    assert person.run(
        "river.js", "[2, 3, 9, 10].map((seq) => m.outside({ before: 2, upto: [4, 9] }, seq))"
    ) == [-1, 0, 0, 1]
    assert person.run("river.js", "m.outside({ before: 0, upto: [4, 9] }, 0)") == 0
    assert person.run("ranking.js", "[0.5, 1, 0, -1].map((margin) => m.gap(margin, 1))") == [17, 34, 0, 0]
    assert person.run("ranking.js", "m.cut({ hits: [1], candidates: 1, seen: 6 })") == (
        "1 of 6 candidates answers, 5 were dropped by a stage; below: what lost, and where"
    )
    assert person.run("dom.js", "[3e-11, -2.5e-9, 0, 0.25, null].map((value) => m.number(value, 6))") == [
        "3e-11", "-2.5e-9", "0", "0.25", "–"
    ]  # fmt: skip
    assert person.run("bump.js", "[1, 3, 4, 5].map((seq) => m.between([1, 5], seq))") == [0, 2 / 4, 3 / 4, 1]


@in_a_browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1400, "dark")])
def test_it_fits_a_phone_follows_the_colour_scheme_and_axe_finds_nothing(page_world, browser, width, scheme):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    recall = page_world.get("/api/recalls", grep="refund", limit=1)["recalls"][0]
    memory = page_world.get(f"/api/recalls/{recall['id']}")["hits"][0]["id"]
    person = Person(browser, page_world.address["page"], f"#/recall/{recall['id']}/memory/{memory}")
    for view in ("", "/view/then-and-now", "/view/formula", "/view/dreams", "/view/expectations"):
        person.go(f"#/recall/{recall['id']}/memory/{memory}{view}")
        person.until(lambda: person.texts("#detail .sentence"))
        person.still()
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, view
        assert violations(browser) == [], view
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in re.findall(r"\d+", paper)[:3]) / 3
    assert (brightness > 128) == (scheme == "light")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def violations(browser) -> list[str]:
    source = resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    browser.execute_script(source)
    found = browser.execute_async_script("axe.run().then(arguments[0])")
    return [f"{one['id']}: {json.dumps(one['nodes'][0]['html'])[:200]}" for one in found["violations"]]


@in_a_browser
def test_axe_finds_nothing_at_the_login_and_on_a_page_whose_server_is_gone(start, browser):
    server = start("--token", "root")
    person = Person(browser, server.address["url"] + "/")
    person.until(lambda: person.find("#token").is_displayed())
    assert violations(browser) == []
    browser.get("about:blank")
    person = Person(browser, server.address["page"], "")
    person.until(lambda: person.texts("#store")[0] and person.texts("#inbox li"))
    person.go(f"#/ask/{quote(QUESTION)}/memory/auth")
    person.until(lambda: person.texts("#detail .sentence"))
    person.still()
    server.stop()
    person.until(lambda: person.find("#gone").is_displayed())
    person.still()
    assert violations(browser) == []


@in_a_browser
def test_eight_tabs_of_one_server_work_and_one_that_is_seen_again_catches_up(server, browser):
    first = browser.current_window_handle
    person = Person(browser, server.address["page"])
    person.until(lambda: person.texts("#store")[0])
    for _ in range(7):
        browser.switch_to.new_window("tab")
        browser.get(server.address["page"])
        person.until(lambda: person.texts("#store")[0] and person.texts("#inbox li"))
    server.send("POST", "/api/recall", {"q": "asked of eight tabs"})
    person.until(lambda: "asked of eight tabs" in person.texts("#inbox .question"))
    for tab in browser.window_handles:
        if tab != first:
            browser.switch_to.window(tab)
            browser.close()
    browser.switch_to.window(first)
    person.until(lambda: "asked of eight tabs" in person.texts("#inbox .question"))


@in_a_browser
def test_what_is_open_follows_a_revision_and_an_erasure_and_keeps_what_a_person_did_there(
    start, browser, tmp_path
):
    server = start()
    recall = server.get("/api/recalls")["recalls"][0]["id"]
    person = Person(browser, server.address["page"], f"#/recall/{recall}/memory/auth")
    person.until(lambda: person.texts("#detail .versions .said") and person.ids())
    person.until(lambda: browser.find_elements("css selector", "#inbox .dot.exact"))
    person.click("#verify")
    person.until(lambda: person.texts("#verdict .verdict") == ["exact"])
    person.find("#centre input[name=id]").send_keys("half typed")
    person.click("#detail .why summary")
    server.send("PATCH", "/api/memories/auth", {"content": "Auth sessions live in DynamoDB"})
    person.until(lambda: any("DynamoDB" in text for text in person.texts("#detail .versions .said")))
    person.until(lambda: person.texts("#detail .why table"))
    assert person.find("#detail .why details").get_attribute("open") is not None
    typed = browser.switch_to.active_element
    assert (typed.get_attribute("name"), typed.get_attribute("value")) == ("id", "half typed")
    erase = [sys.executable, "-m", "recollect", "erase", "auth", "--yes", "--store", str(tmp_path / "store")]
    subprocess.run(erase, check=True, capture_output=True)
    person.until(lambda: "Postgres" not in "".join(person.texts("main")))
    verdict = server.get(f"/api/verify/{recall}")["verdict"]
    assert verdict != "exact"
    person.until(lambda: browser.find_elements("css selector", f"#inbox .dot.{verdict}"))
    assert "DynamoDB" not in "".join(person.texts("main"))
    assert person.texts("#verdict") == [""]
    assert browser.switch_to.active_element.get_attribute("value") == "half typed"


@in_a_browser
def test_a_question_asked_anew_keeps_what_was_said_beside_it_and_can_drop_it(start, browser):
    server = start()
    given = {
        "q": QUESTION,
        "k": 2,
        "session": "monday",
        "kinds": ["note"],
        "since": "2020-01-01",
        "context": {"tags": ["x"]},
    }
    recall = server.send("POST", "/api/recall", given)["id"]
    before = server.get(f"/api/recalls/{recall}")
    person = Person(browser, server.address["page"], f"#/recall/{recall}?k=7")
    person.until(lambda: person.texts("#centre .ask .check"))
    assert person.find("#centre input[name=k]").get_attribute("value") == "2"
    assert len(person.texts("#centre .ask .check")) == 4
    person.click("#centre .ask button[type=button]")  # ask and record
    person.until(lambda: f"recall/{recall}" not in browser.current_url)
    after = server.get(f"/api/recalls/{server.get('/api/recalls')['recalls'][0]['id']}")
    for name in ("query", "k", "session", "filters", "context"):
        assert after[name] == before[name]
    person.until(lambda: after["id"] in "".join(person.texts("#centre .about p")))
    person.click("#centre .ask input[value=kinds]")
    person.click("#centre .ask .first")
    person.until(lambda: person.ids() and "/ask/" in browser.current_url)
    person.still()
    hits = server.get(
        "/api/recall", q=QUESTION, k=2, session="monday", since="2020-01-01", context='{"tags": ["x"]}'
    )["hits"]
    assert person.ids() == [hit["id"] for hit in hits]
    assert "kinds note" not in "".join(person.texts("#centre .ask .check"))
    assert "session monday" in "".join(person.texts("#centre .ask .check"))
    person.click("#centre .hit .row")
    person.until(lambda: person.texts("#detail .sentence"))
    assert "with=" in browser.current_url
    person.click("#inbox .recalls a")
    person.until(lambda: "/recall/" in browser.current_url)
    assert "with=" not in browser.current_url
    assert "k=" not in browser.current_url


@in_a_browser
def test_no_empty_question_is_recorded_and_the_box_says_how_many_hits_there_are(server, browser):
    person = Person(browser, server.address["page"], f"#/ask/{quote(QUESTION)}")
    person.until(person.ids)
    asked = server.get("/api/bars", q=QUESTION)["hits"]
    assert len(person.ids()) == len(asked)
    assert person.find("#centre input[name=k]").get_attribute("value") == "10"
    person.find("#question").clear()
    head = server.get("/api/status")["head"]
    person.click("#centre .ask button[type=button]")
    person.until(lambda: "no question" in "".join(person.texts("#centre .ask .problem")))
    assert server.get("/api/status")["head"] == head


@in_a_browser
def test_a_load_asks_for_verdicts_in_few_requests_and_an_older_recall_stands_in_the_list(page_world, browser):
    recalls = page_world.get("/api/recalls", limit=1000)["recalls"]
    person = Person(browser, page_world.address["page"], f"#/recall/{recalls[100]['id']}")
    person.until(lambda: person.ids() and len(person.texts("#inbox li")) == 61)
    person.until(lambda: not browser.find_elements("css selector", "#inbox [aria-label='not checked yet']"))
    assert person.texts("#inbox .apart .question") == [recalls[100]["query"]]
    assert browser.find_elements("css selector", "#inbox .apart [aria-current=true]")
    script = "return performance.getEntriesByType('resource').map((one) => one.name).filter((name) => name.includes('/api/'))"
    asked = browser.execute_script(script)
    assert len([name for name in asked if "/api/verdicts" in name]) == 4
    assert len(asked) < 20, asked
    assert browser.title == f"{recalls[100]['query']} · {recalls[100]['id']} · Recollect"
    person.go(f"#/recall/{recalls[100]['id']}/memory/not-there")
    person.until(lambda: person.texts("#detail .problem"))
    person.still()
    assert len(person.texts("#detail .problem")) == 1
    assert browser.title.startswith("not-there · ")


@in_a_browser
def test_a_note_that_an_answer_is_degraded_stands_once(server, browser):
    person = Person(browser, server.address["page"], f"#/ask/{quote(QUESTION)}")
    person.until(person.ids)
    browser.execute_script(
        "const real = window.fetch; window.fetch = async (url, ...rest) => { const found = await real(url, ...rest);"
        " return /api.(bars|status)/.test(url) ? new Response(JSON.stringify({ ...(await found.json()), degraded: ['by words alone'] })) : found }"
    )
    server.send("POST", "/api/recall", {"q": "anything"})
    person.until(lambda: person.texts("#health .note") == ["by words alone"])
    assert person.find("#health .note").is_displayed()
    person.click("#centre .first")
    person.until(lambda: person.texts("#centre .note") == ["by words alone"])
    person.until(lambda: not person.find("#health .note").is_displayed())


@in_a_browser
def test_the_keyboard_skips_to_the_answer_and_a_long_question_wraps(server, browser):
    long = "where exactly are the sessions of the authentication service stored since the move " * 2
    person = Person(browser, server.address["page"], f"#/ask/{quote(long)}/memory/auth")
    person.until(lambda: person.texts("#detail .sentence"))
    browser.switch_to.active_element.send_keys("\ue004")
    assert browser.switch_to.active_element.get_attribute("id") == "skip"
    browser.switch_to.active_element.send_keys("\n")
    assert browser.switch_to.active_element.get_attribute("id") == "centre"
    cut = "const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.querySelector('#question'); return scrollWidth > clientWidth || scrollHeight > clientHeight + 1"
    assert not browser.execute_script(cut)


@in_a_browser
def test_on_a_phone_what_was_opened_is_brought_into_view(page_world, browser):
    metrics = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    person = Person(browser, page_world.address["page"])
    person.until(lambda: len(person.texts("#inbox li")) == 60)
    seen = "const { top } = document.querySelector(arguments[0]).getBoundingClientRect(); return top > -5 && top < innerHeight / 2"
    browser.execute_script("document.querySelector('#inbox li:nth-child(40)').scrollIntoView()")
    person.click("#inbox li:nth-child(40) a")
    person.until(lambda: person.ids() and browser.execute_script(seen, "#centre"))
    assert browser.switch_to.active_element.get_attribute("id") == "centre"
    person.click("#centre .hit .row")
    person.until(lambda: person.texts("#detail .sentence") and browser.execute_script(seen, "#detail"))
    assert browser.switch_to.active_element.get_attribute("id") == "detail"
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@in_a_browser
def test_a_page_that_asked_too_much_waits_and_asks_again(start, browser):
    server = start()
    while server.client.get("/api/nothing").status_code != 429:  # quick to answer
        pass

    def take_every_turn(until: float) -> None:
        while time.monotonic() < until:
            server.client.get("/api/nothing")

    with ThreadPoolExecutor(1) as beside:
        beside.submit(take_every_turn, time.monotonic() + 5)
        person = Person(browser, server.address["page"], f"#/ask/{quote(QUESTION)}/memory/auth")
        person.until(lambda: person.texts("#detail .sentence"))
    person.still()
    assert person.ids()[0] == "auth"
    assert person.texts("#columns .problem, #health .problem") == []


@in_a_browser
def test_a_wrong_token_says_so_and_one_that_reads_opens_the_page(start, browser):
    server = start("--token", "root", "--read-token", "secret")
    person = Person(browser, server.address["url"] + "/")
    person.until(lambda: person.find("#token").is_displayed())
    person.find("#token").send_keys("wrong\n")
    person.until(lambda: "not the server's" in person.texts("#refused")[0])
    person.find("#token").clear()
    person.find("#token").send_keys("secret\n")
    person.until(lambda: "5 memories" in person.texts("#store")[0])
    person.until(lambda: "Ask" in person.texts("#centre button"))
    assert "Ask and record" not in person.texts("#centre button")
    for unfit in ("#token=%", "#token=%E2%98%83"):
        browser.execute_script("sessionStorage.clear()")
        browser.get("about:blank")
        person = Person(browser, server.address["url"] + "/" + unfit)
        person.until(lambda: "cannot be a token" in browser.find_element("id", "refused").text)
    browser.execute_script("document.querySelector('#token').value = '\N{SNOWMAN}'")
    person.click("#login button")
    person.until(lambda: "cannot be a token" in browser.find_element("id", "refused").text)
    browser.execute_script("sessionStorage.clear()")
    browser.get("about:blank")
    person = Person(browser, server.address["url"] + "/#token=mistyped")
    person.until(lambda: "not the server's" in person.texts("#refused")[0])
    browser.get("about:blank")
    person = Person(browser, server.address["page"])
    person.until(lambda: "5 memories" in person.texts("#store")[0])
    assert "root" not in browser.current_url
    person.until(lambda: "Ask and record" in person.texts("#centre button"))


@in_a_browser
def test_new_events_arrive_by_themselves_and_a_server_that_is_gone_greys_the_page(start, browser):
    server = start()
    person = Person(browser, server.address["page"])
    person.until(lambda: person.texts("#inbox h2"))
    server.send("POST", "/api/recall", {"q": "redis rate limiting"})
    person.until(lambda: "redis rate limiting" in "".join(person.texts("#inbox .question")))
    person.until(lambda: f"{server.get('/api/status')['head']} events" in person.find("#store").text)
    person.go("#/view/dreams")
    person.until(lambda: "Dreams" in person.texts("#centre h2"))
    browser.execute_script("window.asked = []; window.confirm = (words) => asked.push(words) > 1")
    head = server.get("/api/status")["head"]
    person.click("#centre button")  # dream, and think better of it
    assert server.get("/api/status")["head"] == head
    person.click("#centre button")
    person.until(lambda: re.search(r"dream/d\d+", browser.current_url) and person.texts("#centre .report"))
    (dream,) = server.get("/api/dreams")
    counted = [f"{phase} {count}" for phase, count in dream["counts"].items() if count]
    assert (dream["undoes"], dream["undone_at"]) == (None, None)
    assert person.texts("#centre .past button") == []  # no Undo in a list that grows
    assert ", ".join(counted) in person.texts("#centre .past li")[0]
    person.type("#centre .report .undo", "\n")
    person.until(lambda: any("took back" in text for text in person.texts("#centre .report b")))
    person.still()
    assert browser.switch_to.active_element.tag_name != "body"
    assert "Take" in browser.execute_script("return asked.at(-1)")
    assert person.texts("#centre .undo") == []
    assert server.get("/api/dreams")[1]["undone_at"]
    assert "taken back" in person.texts("#centre .past li")[1]
    person.click("#centre .past li:nth-child(2) a")
    person.until(lambda: any("taken back" in text for text in person.texts("#centre .report b")))
    assert person.texts("#centre .undo") == []
    server.stop()
    person.until(lambda: person.find("#gone").is_displayed())
    assert "gone" in browser.execute_script("return document.body.className")


@in_a_browser
@pytest.mark.parametrize("seen", [True, False], ids=["a tab that is seen", "a tab that is seen again"])
def test_a_server_that_comes_back_with_another_store_is_asked_for_every_verdict_again(
    start, browser, tmp_path, seen
):
    start().stop()
    shutil.copytree(tmp_path / "store", tmp_path / "other")
    server = start()
    asked = server.send("POST", "/api/recall", {"q": QUESTION, "k": 2, "track": False})["id"]
    head = server.get("/api/status")["head"]
    person, page = Person(browser, server.address["page"]), browser.current_window_handle
    dot = f"#inbox [data-recall={asked}] .dot"
    person.until(lambda: browser.find_elements("css selector", f"{dot}.exact"))
    person.click("#verify")
    person.until(lambda: person.texts("#verdict .verdict") == ["exact"])
    if not seen:
        browser.switch_to.new_window("tab")
    server.stop()
    shutil.rmtree(tmp_path / "store")
    (tmp_path / "other").rename(tmp_path / "store")
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        (known,) = memory.recalls().recalls
        fact = memory.store.event(int(known.id[1:])).fact
        memory.store.append([msgspec.structs.replace(fact, scores=fact.scores[::-1])])
    other = start("--port", server.address["url"].rpartition(":")[2])
    assert other.get("/api/status")["head"] == head
    assert other.get(f"/api/verify/{asked}")["verdict"] == "different"
    if not seen:
        browser.close()
        browser.switch_to.window(page)
    person.until(lambda: browser.find_elements("css selector", f"{dot}.different"))
    assert person.texts("#verdict") == [""]


@in_a_browser
def test_an_event_between_two_answers_about_what_is_new_is_not_passed_over(start, browser):
    server = start()
    recall = server.get("/api/recalls")["recalls"][0]["id"]
    person = Person(browser, server.address["page"], f"#/recall/{recall}/memory/auth")
    person.until(lambda: person.texts("#detail .versions .said") and person.ids())
    person.still()
    browser.execute_script(
        "const ask = window.fetch; let once = true;"
        "window.fetch = async (where, options) => {"
        "  if (once && String(where).includes('/api/status')) {"
        "    once = false;"
        "    const body = JSON.stringify({ content: 'Auth sessions live in DynamoDB' });"
        "    await ask('api/memories/auth', { method: 'PATCH', body, headers: { 'Content-Type': 'application/json' } });"
        "  }"
        "  return ask(where, options);"
        "}"
    )
    server.send("POST", "/api/recall", {"q": "redis rate limiting"})
    person.until(lambda: any("DynamoDB" in text for text in person.texts("#detail .versions .said")))


HELD = (
    "const ask = window.fetch; let once = true;"
    "window.fetch = (where, options) => {"
    "  if (!once || !String(where).includes('dreams/preview')) return ask(where, options);"
    "  once = false;"
    "  return new Promise((done, fail) => { window.answered = done; window.lost = fail; });"
    "}"
)


@in_a_browser
def test_what_is_asked_for_anew_while_something_is_under_way_is_shown_after_it(start, browser):
    server = start()
    person = Person(browser, server.address["page"], "#/view/dreams")
    person.until(lambda: person.texts("#centre .button"))
    person.still()
    browser.execute_script(HELD)
    person.click("#centre .button")
    person.until(lambda: person.texts("#centre .waiting"))
    person.click("#centre .button")
    person.still()
    assert person.texts("#centre .waiting") == ["dreaming …"]
    old = {"refused": "an old answer", "metrics": {}, "answers": [], "phases": []}
    browser.execute_script("answered(new Response(JSON.stringify(arguments[0])))", old)
    person.until(lambda: person.texts("#centre .report b") == ["Preview: nothing was changed."])


@in_a_browser
def test_what_was_under_way_when_the_server_went_is_asked_for_again_when_it_is_back(start, browser):
    server = start()
    person = Person(browser, server.address["page"], "#/view/dreams")
    person.until(lambda: person.texts("#centre .button"))
    person.still()
    browser.execute_script(HELD)
    person.click("#centre .button")
    person.until(lambda: person.texts("#centre .waiting"))
    server.stop()
    browser.execute_script("lost(new TypeError('it is gone'))")
    person.until(lambda: person.find("#gone").is_displayed())
    start("--port", str(server.address["url"].rpartition(":")[2]))
    person.until(lambda: person.texts("#centre .report b") == ["Preview: nothing was changed."])
    assert not person.find("#gone").is_displayed()


@in_a_browser
def test_a_recall_that_cannot_be_read_is_marked_with_why_and_the_others_have_their_verdict(
    start, browser, tmp_path
):
    server = start()
    lost = server.get("/api/recalls")["recalls"][0]["id"]
    other = server.send("POST", "/api/recall", {"q": "redis rate limiting"})["id"]
    waits = (
        "const ask = window.fetch;"
        "window.fetch = async (where, options) => {"
        "  if (String(where).includes('verdicts')) await new Promise((done) => { window.go_on = done; });"
        "  return ask(where, options);"
        "}"
    )
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": waits})
    try:
        person = Person(browser, server.address["page"])
        person.until(lambda: browser.execute_script("return Boolean(window.go_on)"))
        (segment,) = (tmp_path / "store" / "log").glob("*.seg")
        data = bytearray(segment.read_bytes())
        data[data.rindex(QUESTION.encode())] ^= 1
        segment.write_bytes(data)
        browser.execute_script("go_on()")
        found = {lost: "unreadable", other: "exact"}
        for recall, verdict in found.items():
            person.until(lambda dot=f"#inbox [data-recall={recall}] .dot.{verdict}": person.find(dot))
        assert "is damaged at byte" in person.find("#inbox .dot.unreadable").get_attribute("title")
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


@in_a_browser
def test_long_texts_fold_and_open_and_what_is_named_is_a_link(start, browser):
    server = start()
    text = "auth sessions " + "and a long story " * 180 + "with an end"
    server.send("POST", "/api/remember", {"id": "story", "content": text}, 201)
    server.send(
        "POST",
        "/api/remember",
        {"id": "newer", "content": "auth sessions anew", "supersedes": ["redis"]},
        201,
    )
    server.send("POST", "/api/recall", {"q": text})
    person = Person(browser, server.address["page"], f"#/ask/{quote(QUESTION)}/memory/story?k=9")
    person.until(lambda: person.texts("#detail .memo .long") and "story" in person.ids())
    person.still()
    heights = (
        "return [...document.querySelectorAll(arguments[0])].map((one) => one.getBoundingClientRect().height)"
    )
    for folded in (
        ".hit[data-id=story] .row",
        "#inbox .recalls a",
        "#detail .text",
        "#detail .versions li",
        "#detail .answered li",
    ):
        assert 0 < max(browser.execute_script(heights, folded)) < 200, folded
    person.click("#detail .memo .long summary")
    assert person.find("#detail .memo .long > .said").text.endswith("with an end")
    assert browser.execute_script(heights, "#detail .text")[0] > 200
    assert re.fullmatch(r"[\w.#/-]+", person.texts("#detail .beside-it a")[0])
    assert "b=@" in person.find("#detail .versions li a").get_attribute("href")
    person.go(f"#/ask/{quote(QUESTION)}/memory/redis?k=9")
    person.until(lambda: person.texts("#detail .memo dd a") == ["newer"])
    person.click("#detail .memo dd a")
    person.until(lambda: "memory/newer" in browser.current_url)
    person.go(f"#/ask/{quote(QUESTION)}/view/then-and-now?k=9&a=@2")
    person.until(lambda: person.texts(".bump .line"))
    assert max(browser.execute_script(heights, ".beside li")) < 200


@in_a_browser
def test_the_words_of_a_formula_are_explained_and_one_colour_has_shades(page_world, browser):
    recall = page_world.get("/api/recalls", grep="refund", limit=1)["recalls"][0]
    person = Person(browser, page_world.address["page"], f"#/recall/{recall['id']}")
    person.until(lambda: person.texts(".meanings dt"))
    told = dict(zip(person.texts(".meanings dt"), person.texts(".meanings dd"), strict=True))
    words = page_world.get("/api/words")
    assert told["half_life_recency"] == words["half_life_recency"] != ""
    assert all(told.values())
    assert person.find(".numbers th").get_attribute("title")
    shades = person.run(
        "bars.js", "m.shades(['recency', 'half_life_recency', 'vector', 'in_span', 'recency_boost'])"
    )
    assert shades == {"recency": 0, "half_life_recency": 1, "vector": 0, "in_span": 2, "recency_boost": 2}
    person.go(f"#/recall/{recall['id']}/view/formula")
    person.until(lambda: person.texts(".slider") and person.find(".slider").get_attribute("title"))
    assert any("the last 60 questions" in text for text in person.texts("#centre h3"))


@in_a_browser
def test_a_handle_outside_a_zoom_is_at_the_edge_and_a_click_moves_b(page_world, browser):
    from selenium.webdriver.common.action_chains import ActionChains

    zoom = "2026-02-20T00:00:00.000Z..2026-02-22T00:00:00.000Z"
    person = Person(browser, page_world.address["page"], f"#/?a=@100&zoom={zoom}")
    person.until(lambda: person.texts(".handle-a") == ["◂A"] and person.texts(".handle-b") == ["B▸"])
    person.still()
    ActionChains(browser).move_to_element(person.find("svg.river")).click().perform()
    person.until(lambda: "b=@" in browser.current_url)
    person.until(lambda: person.texts(".handle-b") == ["B"])
    seq = int(re.search(r"b=@(\d+)", browser.current_url)[1])
    assert page_world.get(f"/api/events/{seq}")["at"].startswith("2026-02-2")
    person.go(f"#/?a=@{seq}&b=@{seq}")  # one over the other: both can be taken hold of
    person.until(lambda: person.texts(".handle-a") == ["A"])
    person.still()
    under = (
        "const box = document.querySelector('.handle-b').getBoundingClientRect();"
        "return [box.top + 6, box.bottom - 6].map((y) => document.elementFromPoint(box.left + 3, y).textContent)"
    )
    assert browser.execute_script(under) == ["A", "B"]


@in_a_browser
def test_an_expectation_shows_its_question_and_note_and_links_its_event_once(page_world, browser):
    person = Person(browser, page_world.address["page"], "#/view/expectations")
    person.until(lambda: person.texts("#centre .expectations .broken"))
    failed = page_world.get("/api/check")["failed"][0]
    (broken, *_) = person.texts("#centre .broken")
    assert failed["expectation"]["query"] in broken
    if failed["broken_by"]:
        assert broken.count(f"@{failed['broken_by']}") == 1
        assert f"@{failed['broken_by']}" in person.texts("#centre .broken a")


@in_a_browser
def test_an_expectation_takes_a_note(start, browser):
    server = start()
    recall = server.get("/api/recalls")["recalls"][0]["id"]
    person = Person(browser, server.address["page"], f"#/recall/{recall}/memory/auth")
    person.type("#detail .why input[name=note]", "the policy says so\n")
    person.until(lambda: "kept as" in "".join(person.texts("#detail .why form")))
    assert [one["note"] for one in server.get("/api/expectations")] == ["the policy says so"]
    person.go("#/view/expectations")
    person.until(lambda: "the policy says so" in "".join(person.texts("#centre .expectations")))


@in_a_browser
def test_an_expectation_is_withdrawn_where_it_is_shown(start, browser):
    server = start()
    recall = server.get("/api/recalls")["recalls"][0]["id"]
    server.send("POST", "/api/expectations", {"recall": recall, "id": "auth", "first": True}, 201)
    person = Person(browser, server.address["page"], "#/view/expectations")
    person.type("#centre .holds button", "\n")
    person.until(lambda: person.texts("#centre .empty"))
    person.still()
    assert browser.switch_to.active_element.tag_name != "body"
    assert server.get("/api/expectations") == []
    assert person.complaints() == []


@in_a_browser
def test_a_memory_opens_whole_whatever_its_id_is(start, browser):
    server = start()
    for id_ in AWKWARD_IDS:
        server.send("POST", "/api/remember", {"id": id_, "content": f"this is what {id_} says"}, 201)
    for id_ in AWKWARD_IDS:
        address = f"#/ask/{quote(QUESTION)}/memory/{quote(id_, safe='')}"
        person = Person(browser, server.address["page"], address)
        person.until(lambda: person.texts("#detail .sentence") and person.texts("#detail .memo h3"))  # noqa: B023
        person.still()
        assert f"this is what {id_} says" in person.texts("#detail .memo .said")
        assert f"this is what {id_} says" in person.texts("#detail .versions .said")
        person.click("#detail .memo button")
        person.until(lambda: "held it" in "".join(person.texts("#detail .impact")))  # noqa: B023
        assert person.texts("#detail .problem") == []
        assert person.complaints() == []


@in_a_browser
def test_an_empty_store_offers_commands_and_a_store_to_look_at(start_empty, browser):
    server = start_empty()
    person = Person(browser, server.address["page"])
    person.until(lambda: len(person.texts("#centre .command code")) == 4)
    path = server.get("/api/status")["path"]
    assert all(text.endswith(f"--store {path}") for text in person.texts("#centre code")[:3])
    assert person.run("first_run.js", "m.quoted(given[0])", "/a b/it's") == "'/a b/it'\\''s'"
    assert any("recollect demo --store" in text for text in person.texts("#centre code"))
