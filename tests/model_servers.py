"""A real HTTP server that speaks /v1/embeddings, /v1/rerank and /v1/chat/completions, as the tests tell it to.

`replies` are given in order, to whatever is asked; then it answers well: vectors of the hash embedder, scores that are
larger for longer texts, and a chat that repeats the last message in other words.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from recollect.engine.embedding.embedder import HashEmbedder

GONE = 0
"""As a status: the connection ends in the middle of the answer."""
Reply = tuple[int, object]
Answer = Callable[[dict[str, Any]], Reply]


class ModelServer:
    """`asked` keeps what came in, `keys` with which key; `chat` is what the chat says."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.replies: list[Answer] = []
        self.chat: Callable[[str], str] = lambda text: f"in other words: {text}"
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append({"path": self.path, **body})
                outer.keys.append(self.headers.get("Authorization"))
                status, said = (outer.replies.pop(0) if outer.replies else outer.well(self.path))(body)
                if status == GONE:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
                    self.close_connection = True
                    return
                answer = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None: ...

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """A client that went away is what some tests are about."""

        self._http = Quiet(("127.0.0.1", 0), Handler)
        self.port = self._http.server_port
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def url(self) -> str:
        return f"{self.root}?model=tiny"

    def asked_at(self, path: str) -> list[dict[str, Any]]:
        return [one for one in self.asked if one["path"] == f"/v1/{path}"]

    def well(self, path: str) -> Answer:
        return {"embeddings": vectors, "rerank": scores}.get(path.removeprefix("/v1/"), self._chat)

    def _chat(self, body: dict[str, Any]) -> Reply:
        said = self.chat(body["messages"][-1]["content"])
        return 200, {"choices": [{"message": {"role": "assistant", "content": said}}]}

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def vectors(body: dict[str, Any]) -> Reply:
    rows = HashEmbedder().embed(body["input"]).tolist()
    return 200, {"data": [{"index": n, "embedding": row} for n, row in reversed(list(enumerate(rows)))]}


def scores(body: dict[str, Any]) -> Reply:
    found = [{"index": n, "relevance_score": len(text)} for n, text in enumerate(body["documents"])]
    return 200, {"results": found[::-1]}


def says(status: int, said: object = "") -> Answer:
    return lambda _: (status, said)
