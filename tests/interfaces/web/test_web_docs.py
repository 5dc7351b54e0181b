"""The page about the API lists what the application serves, no more and no less."""

from __future__ import annotations

import re
from pathlib import Path

from recollect.web.app import ENDPOINTS

DOCUMENT = (Path(__file__).parents[3] / "docs" / "web.md").read_text("utf-8")


def test_the_table_of_the_api_is_the_applications():
    rows = re.findall(r"^\| (GET|POST|PATCH) \| `([^`]+)` \| (.+) \|$", DOCUMENT, re.MULTILINE)
    served = [(e.method, re.sub(r":(path|int)\}", "}", e.path), e.says) for e in ENDPOINTS]
    assert rows == served
