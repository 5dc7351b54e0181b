"""Engines for the logs of packs, each a real one: a nats-server, moto's S3 server, a directory; and memory."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from memory_pack_store import MemoryPackStore
from nats_servers import Server, running, single

from recollect.events.packs.store import PackStore

ENGINES = ("memory", "directory", "s3", "jetstream")
Connect = Callable[[], PackStore]
_numbers = count(1)


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = single(tmp_path_factory.mktemp("nats"))
    with running(server):
        yield server


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """moto's S3 in this process, reached over HTTP as the real one is.

    One request at a time: moto looks whether an object is there and then puts it, and a thread in between makes its
    conditional put unconditional, which S3's is not.
    """
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=False)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


@pytest.fixture(params=ENGINES)
def connect(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Connect]:
    """A function that gives one more connection to the same, at first empty, place."""
    with contextlib.ExitStack() as opened:
        make = _engine(request.param, request, tmp_path, monkeypatch)

        def connected() -> PackStore:
            store = make()
            opened.callback(store.close)
            return store

        yield connected


def _engine(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Connect:
    if name == "memory":
        shared = MemoryPackStore()
        return lambda: shared
    if name == "jetstream":
        from recollect.events.packs.jetstream import JetStreamPackStore

        server, stream = request.getfixturevalue("nats_server"), f"t{next(_numbers)}"
        return lambda: JetStreamPackStore([server.url], stream, where=f"{server.url}/{stream}")
    from recollect.events.packs.object_store import ObjectPackStore

    if name == "directory":
        return lambda: ObjectPackStore(f"file://{tmp_path}/shared")
    url = s3_url(request.getfixturevalue("s3_endpoint"), monkeypatch)
    return lambda: ObjectPackStore(url)


def s3_url(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty place of its own in a bucket that is made if it is not there."""
    import boto3

    for name, value in {
        "AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket="packs")
    return f"s3://packs/p{next(_numbers)}"
