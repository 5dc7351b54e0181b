"""Makes the worked example of compare.md: a store, its traffic, the output of every command shown, the pictures.

A command in compare.md stands in a comment before its block (`<!-- $ recollect … -->`); this script runs them in
order against a new store and puts what they print into the blocks. Nothing there is typed by hand.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import tempfile
from importlib import resources
from pathlib import Path

from click.testing import CliRunner
from rich.console import Console

from recollect.interfaces.cli.app import main as recollect
from recollect.interfaces.cli.render import compare as render_compare
from recollect.interfaces.common.slope_chart import standalone_chart
from recollect.interfaces.python.memory import Memory
from recollect.replay.compare.comparison import Comparison

FOLDER = Path(__file__).parent
PAGE = FOLDER / "compare.md"
PICTURES = FOLDER / "pictures"
BLOCK = re.compile(r"<!-- \$ (?P<command>.+?) -->\n```\n.*?```\n", re.DOTALL)

NOTES = {
    "auth-store": "Auth sessions live in Postgres, not Redis",
    "auth-ttl": "Session cookies expire after 14 days of inactivity",
    "auth-sso": "Single sign-on for customers goes through Okta with SAML",
    "redis-use": "Redis is only used for rate limiting and the job queue",
    "redis-evict": "Redis eviction policy is allkeys-lru since the October incident",
    "pg-primary": "Postgres primary runs on db-1 and replicates to db-2",
    "pg-backup": "Postgres backups go to S3 every night at two and are kept 30 days",
    "pg-version": "Postgres was upgraded from 13 to 16 in September",
    "deploy-day": "Deploys happen on Tuesdays after the stand-up",
    "deploy-freeze": "No deploys in the last two weeks of December",
    "deploy-rollback": "A rollback is the previous image tag, deployed with the same command",
    "billing-timeout": "The billing service times out when Stripe is slow",
    "billing-retry": "Stripe webhooks are retried for three days, then the invoice is flagged",
    "billing-tax": "Tax rates come from Stripe Tax and are cached for a day",
    "login-page": "The login page was redesigned in October",
    "login-captcha": "The login page shows a captcha after five failed attempts",
    "rate-limit": "API rate limit is 100 requests per minute and key",
    "rate-burst": "Rate limits allow a burst of twenty requests",
    "mara-tabs": "Mara prefers tabs over spaces and reviews in the morning",
    "ci-slow": "The integration tests take eleven minutes, most of it starting Postgres",
    "ci-cache": "CI caches the pip wheels per lock file",
    "log-level": "Production logs at info, debug logs are sampled at one percent",
    "alert-night": "Alerts go to the on-call phone between ten and six",
    "search-index": "The search index is rebuilt every Sunday night",
}
QUESTIONS = [
    ("where are auth sessions stored?", "auth-store"),
    ("how long does a session last?", "auth-ttl"),
    ("which database host is the primary?", "pg-primary"),
    ("what do we use redis for?", "redis-use"),
    ("when do we deploy?", "deploy-day"),
    ("how do I roll back a deploy?", "deploy-rollback"),
    ("stripe is slow, what breaks?", "billing-timeout"),
    ("how are postgres backups kept?", "pg-backup"),
    ("what is the api rate limit?", "rate-limit"),
    ("why is the login page asking for a captcha?", "login-captcha"),
    ("postgres version", "pg-version"),
    ("redis eviction policy", "redis-evict"),
    ("are deploys allowed in december?", "deploy-freeze"),
    ("stripe webhooks retry", "billing-retry"),
    ("why are the tests slow?", "ci-slow"),
    ("who reviews in the morning?", "mara-tabs"),
]


class Clock:
    """Two hours pass between any two events."""

    def __init__(self) -> None:
        self.now = 1_760_000_000_000_000

    def __call__(self) -> int:
        self.now += 7_200_000_000
        return self.now


def live(store: Path) -> None:
    """The notes come in over some weeks; every question is asked when half and when all of them are there."""
    with Memory.open(store, embedder="hash", formula="reverie", clock=Clock()) as memory:
        half = len(NOTES) // 2
        for known in (list(NOTES)[:half], list(NOTES)[half:]):
            for name in known:
                memory.remember(NOTES[name], id=name)
            for number, (question, wanted) in enumerate(QUESTIONS):
                answer = memory.recall(question, k=5, session=f"day-{number % 5}")
                if wanted in {hit.id for hit in answer.hits}:
                    memory.access(wanted, f"day-{number % 5}", recall=answer.id)


def changed_k() -> str:
    """Reverie with k = 2 in its reciprocal rank fusion instead of 30."""
    text = resources.files("recollect.query.formulas").joinpath("reverie.toml").read_text("utf-8")
    assert "k = 30.0" in text
    return text.replace('name = "reverie"', 'name = "steep"').replace("k = 30.0", "k = 2.0")


def run(command: str) -> str:
    """What a command prints, without the spaces at line ends."""
    arguments = shlex.split(command)
    assert arguments[0] == "recollect"
    result = CliRunner().invoke(recollect, arguments[1:])
    assert result.exit_code in (0, 1), result.output
    status = f"exit status {result.exit_code}\n" if result.exit_code else ""
    lines = (result.stdout + result.stderr + status).rstrip().splitlines()
    return "\n".join(line.rstrip() for line in lines)


def refill(match: re.Match[str]) -> str:
    command = match["command"]
    return f"<!-- $ {command} -->\n```\n$ {command}\n{run(command)}\n```\n"


def pictures(comparison: Comparison, memory: Memory) -> None:
    """The report as the terminal shows it, and the slope chart of its most changed question."""
    console = Console(record=True, width=110, file=io.StringIO(), highlight=False)
    render_compare.comparison(comparison, console)
    shown = console.export_svg(title="recollect compare reverie steep.toml")
    without_fonts = re.sub(r"@font-face \{.*?\}\s*", "", shown, flags=re.DOTALL)
    (PICTURES / "compare.svg").write_text(without_fonts, "utf-8")

    def text_of(memory_id: str, seq: int) -> str:
        return memory.get(memory_id, at=seq).content

    (row, *_) = render_compare.most_changed(comparison.rows, 1)
    (PICTURES / "compare-slope.svg").write_text(standalone_chart(row, text_of), "utf-8")


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["RECOLLECT_STORE"] = "store"
        live(Path("store"))
        Path("steep.toml").write_text(changed_k(), "utf-8")
        PAGE.write_text(BLOCK.sub(refill, PAGE.read_text("utf-8")), "utf-8")
        with Memory.open("store", embedder=None) as memory:
            pictures(memory.compare("reverie", "steep.toml"), memory)
        os.chdir(FOLDER)


if __name__ == "__main__":
    main()
