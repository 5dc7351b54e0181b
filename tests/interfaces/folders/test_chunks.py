"""Formats: which pieces a file falls into, where each stands, and what it says of itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.interfaces.folders.chunk import CHUNK_CHARACTERS_MAX, NoNote, Unreadable, body_of, fingerprint
from recollect.interfaces.folders.formats import chunks_of, decode, is_known_format
from recollect.interfaces.folders.paragraphs import pack

DAY = 86_400_000_000


def texts(path: str, text: str) -> dict[str, str]:
    return {chunk.key: chunk.text for chunk in chunks_of(path, text.encode())}


def pdf_of(*pages: str) -> bytes:
    """A PDF with one line of text per page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    body, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n".encode()
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return body + f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()


class TestMarkdown:
    def test_a_heading_begins_a_chunk_and_the_path_of_headings_is_kept(self):
        note = (
            "# Auth\n\nIntro.\n\n## Sessions\n\nIn Postgres.\n\n### Expiry\n\nA day.\n\n## Keys\n\nRotated.\n"
        )
        assert texts("auth.md", note) == {
            "Auth": "Auth\n\nIntro.",
            "Auth/Sessions": "Auth › Sessions\n\nIn Postgres.",
            "Auth/Sessions/Expiry": "Auth › Sessions › Expiry\n\nA day.",
            "Auth/Keys": "Auth › Keys\n\nRotated.",
        }

    def test_a_note_without_a_title_is_headed_by_its_file_name(self):
        assert texts("deep/auth.md", "Just text.\n\n## Keys\n\nRotated.\n") == {
            "": "auth\n\nJust text.",
            "Keys": "auth › Keys\n\nRotated.",
        }

    def test_a_heading_that_says_nothing_itself_is_no_chunk_unless_nothing_is_below_it(self):
        assert texts("a.md", "# A\n\n## B\n\nx\n\n## C\n") == {"A/B": "A › B\n\nx", "A/C": "A › C"}

    def test_underlined_headings_count_and_fenced_code_holds_none(self):
        note = "Title\n=====\n\nText\n\nPart\n----\n\n```sh\n# no heading\n```\nafter\n"
        assert texts("a.md", note) == {
            "Title": "Title\n\nText",
            "Title/Part": "Title › Part\n\n```sh\n# no heading\n```\nafter",
        }

    def test_a_rule_under_a_list_or_a_blank_line_is_no_heading(self):
        assert list(texts("a.md", "- item\n---\n\ntext\n\n---\n\nmore\n")) == [""]

    def test_the_same_heading_twice_gives_two_keys(self):
        assert list(texts("a.md", "## X\n\na\n\n## X\n\nb\n\n## X~2\n\nc\n")) == ["X", "X~2", "X%7E2"]

    def test_a_slash_in_a_heading_is_no_level(self):
        assert list(texts("a.md", "# A/B #1\n\n## C\n\nx")) == ["A%2FB%20%231/C"]

    def test_front_matter_gives_tags_dates_title_and_aliases_and_the_rest_is_ignored(self):
        note = (
            "---\ntitle: Auth\ntags: [auth, '#infra', 7]\naliases: [Login, Sign in]\ndate: 2024-03-01\n"
            "valid_from: 2024-04-01\nvalid_to: 2025-04-01T12:00:00Z\ncssclass: wide\n---\n# Auth\n\nText\n"
        )
        (chunk,) = chunks_of("x.md", note.encode())
        assert chunk.text == "Auth\n\nText"
        assert chunk.tags == ("auth", "infra", "7")
        assert chunk.meta.aliases == ("Login", "Sign in")
        start = datetime(2024, 3, 1, tzinfo=UTC).timestamp() * 1_000_000
        assert chunk.meta.at == start
        assert chunk.meta.valid_from == start + 31 * DAY
        assert chunk.meta.valid_to == start + (31 + 365) * DAY + DAY // 2

    @pytest.mark.parametrize(
        "empty", ["---\n---\n", "---\n...\n", "---\n\n---\n", "+++\n+++\n", "+++\n\n+++\n"]
    )
    def test_empty_front_matter_is_no_text(self, empty: str):
        assert texts("x.md", f"{empty}# T\n\ntext\n\n---\n\nmore\n") == {"T": "T\n\ntext\n\n---\n\nmore"}

    def test_front_matter_may_be_toml_between_plus_signs(self):
        note = (
            '+++\ntitle = "Auth"\ntags = ["auth", "#infra"]\naliases = ["Login"]\ndate = 2024-03-01\n'
            "valid_to = 2024-04-01T12:00:00Z\ndraft = true\n[params]\nx = 1\n+++\n# Auth\n\nText\n"
        )
        (chunk,) = chunks_of("x.md", note.encode())
        assert (chunk.text, chunk.tags, chunk.meta.aliases) == ("Auth\n\nText", ("auth", "infra"), ("Login",))
        start = datetime(2024, 3, 1, tzinfo=UTC).timestamp() * 1_000_000
        assert (chunk.meta.at, chunk.meta.valid_to) == (start, start + 31 * DAY + DAY // 2)
        with pytest.raises(Unreadable, match=r"front matter is not TOML: .*line 1"):
            chunks_of("x.md", b"+++\ntitle: Auth\n+++\nText\n")
        assert texts("x.md", "+++ \nno end\n") == {"": "x\n\n+++ \nno end"}

    def test_tags_may_be_one_text(self):
        (chunk,) = chunks_of("x.md", b"---\ntags: auth, infra ops\n---\nText")
        assert chunk.tags == ("auth", "infra", "ops")

    @pytest.mark.parametrize(
        ("block", "said"),
        [
            ("title: a: b", "not YAML"),
            ("- just\n- a list", "not names with values"),
            ("date: sometime", "'sometime' is not a date"),
            ("date: 2024-13-45", "date"),
            ("valid_from: 2024-02-01\nvalid_to: 2024-01-01", "must come before"),
            ("a: &a [x]\nb: {[*a]: 1}", "not YAML"),
        ],
    )
    def test_front_matter_that_cannot_be_read_is_said(self, block: str, said: str):
        with pytest.raises(Unreadable, match=said):
            chunks_of("x.md", f"---\n{block}\n---\ntext".encode())

    def test_an_alias_bomb_in_front_matter_is_harmless(self):
        lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
        with pytest.raises(Unreadable, match="aliases that stand for more than 10,000 values"):
            chunks_of("x.md", "\n".join(["---", *lines, "date: *a29", "---", "text"]).encode())

    def test_an_alias_in_front_matter_is_read(self):
        (chunk,) = chunks_of("x.md", b"---\nshared: &a [red, blue]\ntags: *a\n---\ntext")
        assert chunk.tags == ("red", "blue")

    def test_a_long_section_is_split_at_paragraphs(self):
        paragraphs = [f"Paragraph {n}. " + "word " * 60 for n in range(40)]
        chunks = chunks_of("a.md", ("# Long\n\n" + "\n\n".join(paragraphs)).encode())
        assert len(chunks) > 5
        assert all(len(body_of(chunk.text)) <= CHUNK_CHARACTERS_MAX for chunk in chunks)
        assert [c.key for c in chunks] == ["Long", *(f"Long~{n}" for n in range(2, len(chunks) + 1))]
        together = "\n\n".join(body_of(chunk.text) for chunk in chunks)
        assert together == "\n\n".join(p.rstrip() for p in paragraphs)


class TestOtherFormats:
    def test_org_by_heading_with_keywords_tags_and_without_drawers(self):
        text = (
            "#+TITLE: Ops\n#+FILETAGS: :work:\n#+DATE: <2024-03-01 Fri>\nIntro\n* TODO [#A] Deploy :urgent:\n"
            ":PROPERTIES:\n:ID: 1\n:END:\nRun it\n** Steps\nOne\n#+begin_src sh\n* not a heading\n#+end_src\n"
        )
        chunks = chunks_of("ops.org", text.encode())
        assert [(chunk.key, chunk.text, chunk.tags) for chunk in chunks] == [
            ("", "Ops\n\nIntro", ("work",)),
            ("Deploy", "Ops › Deploy\n\nRun it", ("work", "urgent")),
            (
                "Deploy/Steps",
                "Ops › Deploy › Steps\n\nOne\n#+begin_src sh\n* not a heading\n#+end_src",
                ("work",),
            ),
        ]
        assert chunks[0].meta.at == datetime(2024, 3, 1, tzinfo=UTC).timestamp() * 1_000_000

    def test_plain_text_is_keyed_by_its_first_words(self):
        assert texts("log.txt", "The quick brown fox jumps over it all\n\nnext") == {
            "the-quick-brown-fox-jumps-over": "log\n\nThe quick brown fox jumps over it all\n\nnext"
        }

    def test_a_paragraph_before_a_long_text_leaves_most_pieces_as_they_were(self):
        text = "\n\n".join(f"{n} " + "word " * (n % 50 + 20) for n in range(200))
        before = {chunk.text for chunk in chunks_of("a.txt", text.encode())}
        after = {chunk.text for chunk in chunks_of("a.txt", ("new " * 100 + "\n\n" + text).encode())}
        assert len(before) > 15
        assert len(after - before) <= len(before) // 3

    def test_python_by_definition_with_what_stands_right_above_it(self):
        text = "import os\n\n# one\n@wraps\ndef first():\n    def inner(): ...\n    return 1\n\n\nclass Second:\n    x = 1\n"
        assert texts("src/a.py", text) == {
            "": "src/a.py\n\nimport os",
            "first": "src/a.py › first\n\n# one\n@wraps\ndef first():\n    def inner(): ...\n    return 1",
            "Second": "src/a.py › Second\n\nclass Second:\n    x = 1",
        }

    @pytest.mark.parametrize(
        ("path", "text", "names"),
        [
            (
                "a.rs",
                "pub struct Log {\n}\n\nimpl Log {\n}\n\npub(crate) async fn run<T>() {}\n",
                ["Log", "Log~2", "run"],
            ),
            ("a.go", "func (s *Server) Serve() {\n}\n\ntype Server struct {\n}\n", ["Serve", "Server"]),
            (
                "a.ts",
                "export const load = async () => {\n}\nexport default class App {\n}\n",
                ["load", "App"],
            ),
            (
                "a.c",
                "int main(int argc, char **argv) {\n}\n\nstatic void helper(void)\n{\n}\n",
                ["main", "helper"],
            ),
            ("a.sql", "CREATE TABLE users (id int);\n\ncreate view v as select 1;\n", ["users", "v"]),
        ],
    )
    def test_definitions_of_other_languages(self, path: str, text: str, names: list[str]):
        assert list(texts(path, text)) == names

    def test_source_without_definitions_is_taken_in_blocks(self):
        assert list(texts("conf.toml", "[a]\nx = 1\n\n[b]\ny = 2\n")) == ["a-x-1-b-y-2"]

    def test_pdf_by_page(self):
        chunks = chunks_of("paper.pdf", pdf_of("First page", "", "Third page"))
        assert [(chunk.key, chunk.text) for chunk in chunks] == [
            ("page%201", "paper › page 1\n\nFirst page"),
            ("page%203", "paper › page 3\n\nThird page"),
        ]

    @pytest.mark.parametrize("data", [b"", b"%PDF-1.4 nonsense", b"text", pdf_of("")])
    def test_a_pdf_that_gives_no_text_is_said(self, data: bytes):
        with pytest.raises(Unreadable):
            chunks_of("a.pdf", data)

    def test_an_empty_file_has_no_chunks(self):
        assert chunks_of("a.md", b"") == chunks_of("a.txt", b" \n\n") == chunks_of("a.py", b"\n") == ()


class TestDecoding:
    def test_utf8_utf16_and_latin1(self):
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "latin-1"):
            assert decode("café\r\nx".encode(encoding)) == "café\nx"

    @pytest.mark.parametrize("data", [b"a\0b", b"\xff\x00\x01", b"\x89PNG\r\n\x1a\n\x02\xff"])
    def test_binary_is_told_from_text(self, data: bytes):
        with pytest.raises(NoNote, match=r"^binary$"):
            decode(data)

    def test_known_formats(self):
        assert all(map(is_known_format, ["a.md", "README", "x/y.ORG", "s.py", "p.pdf", "n.txt"]))
        assert not any(map(is_known_format, ["a.png", "b.zip", "c.docx", "d.sqlite"]))


@given(
    st.text(alphabet=st.sampled_from("# ab\n`~-=*:|[]()\t")),
    st.sampled_from(["a.md", "a.org", "a.txt", "a.py"]),
)
def test_any_text_gives_unique_keys_and_texts_that_a_store_can_hold(text: str, path: str):
    chunks = chunks_of(path, text.encode())
    assert len({chunk.key for chunk in chunks}) == len(chunks)
    assert all(chunk.text.strip() and chunk.text.encode() for chunk in chunks)
    assert fingerprint(c.print for c in chunks) == fingerprint(c.print for c in reversed(chunks))


@given(st.lists(st.text(alphabet="abc \n", max_size=80), max_size=30), st.integers(10, 200))
def test_packing_loses_no_word(parts: list[str], size: int):
    text = "\n\n".join(parts)
    assert " ".join(pack(text, size)).split() == text.split()
