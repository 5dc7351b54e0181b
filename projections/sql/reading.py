"""Accept only one statement that reads, as DuckDB's own parser and tokenizer classify it."""

from __future__ import annotations

import duckdb

from recollect.events.errors import InvalidInput

_ANALYZE = frozenset({"analyze", "analyse"})


def check_reading(query: str) -> None:
    """Refuse all but one statement that reads."""
    found = _statements(query)
    if len(found) != 1:
        raise InvalidInput(f"the query holds {len(found)} statements; ask one at a time")
    kind = found[0].type
    if kind == duckdb.StatementType.EXPLAIN:
        check_reading(_explained(found[0].query))
    elif kind != duckdb.StatementType.SELECT:
        raise InvalidInput(
            f"{kind.name} is refused: SQL here only reads (SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN); "
            f"write through `remember` and its kin, and use `export` for files"
        )


def names_parameter(query: str, name: str) -> bool:
    """Whether `$name` occurs in the query; False for a text that is not SQL, which is refused when it is run."""
    try:
        return any(name in statement.named_parameters for statement in duckdb.extract_statements(query))
    except duckdb.Error:
        return False


def first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0]


def _statements(query: str) -> list[duckdb.Statement]:
    try:
        return duckdb.extract_statements(query)
    except duckdb.Error as error:
        raise InvalidInput(f"the query is not valid SQL: {first_line(error)}") from None


def _explained(query: str) -> str:
    """The statement that an EXPLAIN explains: what follows the word, ANALYZE and a list of options."""
    text = query.encode()
    tokens = _tokens(text)
    if not tokens or tokens[0][1] != "explain":
        raise InvalidInput(f"cannot tell what {query!r} explains; write EXPLAIN SELECT …")
    place = 2 if len(tokens) > 1 and tokens[1][1] in _ANALYZE else 1
    if not _is_statement(text, tokens, place):
        place = _behind_brackets(tokens, place)
    return _rest(text, tokens, place)


def _tokens(text: bytes) -> list[tuple[int, str]]:
    """Where each word, constant or sign begins, in bytes, and what it is in lower case; comments are left out."""
    found = duckdb.tokenize(text.decode())
    ends = [start for start, _ in found[1:]] + [len(text)]
    return [
        (start, text[start:end].decode().strip().lower())
        for (start, kind), end in zip(found, ends, strict=True)
        if kind != duckdb.token_type.comment
    ]


def _rest(text: bytes, tokens: list[tuple[int, str]], place: int) -> str:
    return text[tokens[place][0] :].decode() if place < len(tokens) else ""


def _is_statement(text: bytes, tokens: list[tuple[int, str]], place: int) -> bool:
    """Whether a statement begins here; `(SELECT 1)` is one, `(FORMAT json)` is not."""
    try:
        return len(duckdb.extract_statements(_rest(text, tokens, place))) == 1
    except duckdb.Error:
        return False


def _behind_brackets(tokens: list[tuple[int, str]], place: int) -> int:
    """The place behind the brackets that open here."""
    depth = 0
    for at in range(place, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[at][1], 0)
        if depth <= 0:
            return at + 1
    return len(tokens)
