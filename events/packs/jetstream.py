"""Packs in NATS JetStream: one stream for the packs, whose sequence is their position, and one for boxes and blobs.

    recollect.<name>.pack            a message is a pack, published with Nats-Expected-Last-Sequence
    recollect.<name>.box.<box>       the last message is the box; older ones are deleted with their bytes overwritten
    recollect.<name>.blob.<digest>   how many parts a blob has; the parts follow as .blob.<digest>.<n>

Streams keep three copies in a cluster and one on a single server, on disk, with no limit that would drop anything.
Two things JetStream leaves to us. A server that lost a message silently skips it, so every position is requested by
number, and a missing one is requested from other servers (any replica answers direct gets) and then from another
leader. A server that syncs only now and then loses acknowledged packs in a power cut: `?monitor=URL` lets us check
that, and such a server is refused unless `?sync=any` accepts it.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TypeVar
from urllib.request import urlopen

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import DiscardPolicy, RawStreamMsg, StorageType, StreamConfig, StreamInfo
from nats.js.errors import APIError, NotFoundError

from recollect.events.errors import InvalidInput
from recollect.events.packs.nats_client import StrictClient, login, refused, tls_context
from recollect.events.packs.store import (
    Box,
    BoxMoved,
    StoreRefused,
    StoreStatus,
    StoreUnreachable,
    Unsettled,
)

Result = TypeVar("Result")

_NOT_CLUSTERED = 10074
_NO_SEQUENCE = 10043
_REPLICAS = 3
_REQUEST_S = 5.0
_CONNECT_S = 10.0
_ASKED_ELSEWHERE = 12
_SHARE = 0.6  # of the largest message: an answer of the leader carries a pack as base64


class JetStreamPackStore:
    """The log `name` on these servers. It connects when it is first needed, and again whenever it has to."""

    fresh_s = 0.0
    copies: tuple[str, ...] = (
        "write-ahead logs of the servers, until they are compacted (136 s were seen)",
        "mirrors, snapshots and backups of the streams, for as long as they are kept",
    )

    def __init__(
        self, servers: Sequence[str], name: str, *, where: str, credentials: str | None = None,
        monitors: Sequence[str] = (), any_sync: bool = False, replicas: int | None = None,
    ) -> None:  # fmt: skip
        self.where = where
        self.pack_bytes_max = int(1024 * 1024 * _SHARE)
        self._servers = list(servers)
        self._name = name
        self._side = f"{name}_side"
        self._credentials = credentials
        self._monitors = monitors
        self._any_sync = any_sync
        self._wanted = replicas
        self._replicas = 0
        self._sync: str | None = None
        self._heard_of: list[Exception] = []
        self._refusals = 0
        self._connection: Client | None = None
        self._stream: JetStreamContext | None = None
        self._connecting = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="recollect-nats", daemon=True)
        self._thread.start()

    # --- connecting ------------------------------------------------------------------------------

    def _run(self, work: Coroutine[object, object, Result], timeout_s: float = 2 * _CONNECT_S) -> Result:
        """Wait for something that the client does in its own thread."""
        self._heard_of.clear()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_s)
        except TimeoutError as error:
            future.cancel()
            said = "".join(f": {_said(last)}" for last in self._heard_of[-1:])
            raise StoreUnreachable(f"{self.where} did not answer in time{said}") from error
        except (NatsError, OSError, APIError) as error:
            raise StoreUnreachable(f"{self.where} did not answer: {_said(error)}") from error

    @property
    def _js(self) -> JetStreamContext:
        with self._connecting:
            if self._stream is None:
                self._check_sync()
                self._stream = self._run(self._connect())
            return self._stream

    async def _connect(self) -> JetStreamContext:
        if self._connection is None:
            client, self._refusals = StrictClient(), 0
            try:
                await asyncio.wait_for(
                    client.connect(
                        self._servers, user_credentials=self._credentials, tls=tls_context(), **login(self._servers),
                        error_cb=self._heard, max_reconnect_attempts=-1, connect_timeout=2,
                        ping_interval=5, max_outstanding_pings=2,
                        reconnect_time_wait=0.2,  # type: ignore[arg-type]  # it is slept, and may be a float
                    ),
                    _CONNECT_S,
                )  # fmt: skip
            except BaseException:
                with suppress(Exception):  # it may be in any state
                    await asyncio.wait_for(client.close(), 1.0)
                raise
            self._connection = client
        self.pack_bytes_max = int(self._connection.max_payload * _SHARE)
        stream = self._connection.jetstream(timeout=_REQUEST_S)
        found = await self._information(stream)
        if found is not None:
            self._require_keeping(found)
        return stream

    async def _information(self, stream: JetStreamContext) -> StreamInfo | None:
        """What the server says about the stream of packs; None before the first write."""
        try:
            return await stream.stream_info(self._name)
        except NotFoundError:
            return None

    def _writable(self) -> JetStreamContext:
        """The connection after checking or creating the streams; only a write creates them, never a read."""
        stream = self._js
        with self._connecting:
            if not self._replicas:
                self._replicas = self._run(self._make(stream))
        return stream

    async def _make(self, stream: JetStreamContext) -> int:
        packs = await self._made(stream, self._name, [f"recollect.{self._name}.pack"], keep=True)
        await self._made(stream, self._side, [f"recollect.{self._name}.box.>", f"recollect.{self._name}.blob.>"], keep=False)  # fmt: skip
        return packs.config.num_replicas or 1

    async def _heard(self, error: Exception) -> None:
        """The client reconnects by itself; what was asked meanwhile ends in a timeout, and is asked again.

        Not when it is told to stay out by as many servers as there are, before it ever was inside.
        """
        self._heard_of.append(error)
        if self._connection is None and refused(error):
            self._refusals += 1
            if self._refusals >= len(self._servers):
                raise StoreRefused(f"{self.where} cannot be used: {_said(error)}")

    async def _made(
        self, stream: JetStreamContext, name: str, subjects: list[str], *, keep: bool
    ) -> StreamInfo:
        """The stream, created if it is missing; one that would drop messages is refused."""
        try:
            info = await stream.stream_info(name)
        except NotFoundError:
            replicas = self._wanted or _REPLICAS
            try:
                info = await stream.add_stream(_configuration(name, subjects, replicas, keep=keep))
            except APIError as error:
                if self._wanted or error.err_code != _NOT_CLUSTERED:
                    raise
                info = await stream.add_stream(_configuration(name, subjects, 1, keep=keep))
        self._require_keeping(info)
        return info

    def _require_keeping(self, info: StreamInfo) -> None:
        config = info.config
        limits = (config.max_msgs or -1, config.max_bytes or -1, config.max_age or 0)
        if config.storage != StorageType.FILE or limits != (-1, -1, 0):
            raise InvalidInput(
                f"the stream {config.name} of {self.where} keeps {config.storage} with limits {limits} and would drop events; "
                f"use another name, or a stream on disk without limits"
            )

    def _check_sync(self) -> None:
        """Ask the monitoring ports whether acknowledged means synced."""
        if not self._monitors:
            self._sync = "not known: give its monitoring port as ?monitor=http://host:8222"
            return
        seen = {url: _syncs_always(url) for url in self._monitors}
        lax, unseen = ([url for url, syncs in seen.items() if syncs is what] for what in (False, None))
        if lax and not self._any_sync:
            raise InvalidInput(
                f"{', '.join(lax)} syncs now and then, so a power cut takes events that were acknowledged; set "
                f"`jetstream {{ sync_interval: always }}` on every server, or accept it with ?sync=any"
            )
        said = [f"off on {', '.join(lax)}, as ?sync=any accepts"] if lax else []
        said += [f"not known of {', '.join(unseen)}: it does not answer"] if unseen else []
        self._sync = "; ".join(said) or None

    # --- packs -----------------------------------------------------------------------------------

    def put_if(self, position: int, pack: bytes) -> None:
        headers = {"Nats-Expected-Last-Sequence": str(position - 1)}
        try:
            seq = self._published(f"recollect.{self._name}.pack", pack, headers)
        except StoreUnreachable as error:
            raise Unsettled(str(error)) from error
        if seq != position:
            raise Unsettled(f"the server put the pack at {seq} and not at {position}")

    def _published(self, subject: str, content: bytes, headers: dict[str, str]) -> int:
        stream = self._writable()
        return self._run(stream.publish(subject, content, timeout=_REQUEST_S, headers=headers)).seq

    def get(self, position: int) -> bytes | None:
        return self._run(self._got(self._js, position))

    def get_many(self, first: int, count: int) -> list[bytes | None]:
        stream = self._js
        asked = (self._got(stream, first + place) for place in range(count))
        return self._run(_together(asked), 4 * _CONNECT_S)

    async def _got(self, stream: JetStreamContext, position: int, *, direct: bool = False) -> bytes | None:
        """The pack from the leader, or with `direct` from any replica that answers."""
        try:
            message = await stream.get_msg(self._name, position, direct=direct)
        except NotFoundError:
            return None
        return message.data if message.seq == position else None

    def others(self, position: int) -> Iterator[bytes]:
        """Ask any replica that answers, then another leader."""
        stream = self._js
        for turn in range(_ASKED_ELSEWHERE):
            if turn == _ASKED_ELSEWHERE // 2:
                self._step_down()
            try:
                found = self._run(self._got(stream, position, direct=turn % 2 == 0))
            except StoreUnreachable:
                continue
            if found is not None:
                yield found

    def _step_down(self) -> None:
        connection = self._connection
        assert connection is not None
        try:
            self._run(
                connection.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{self._name}", b"", timeout=_REQUEST_S)
            )
        except StoreUnreachable:
            return
        time.sleep(0.5)  # a new leader is chosen within that

    def last(self, known: int) -> int:  # noqa: ARG002 (the stream knows its end)
        return self._run(self._end(self._js))

    async def _end(self, stream: JetStreamContext) -> int:
        """The last position; 0 before the first write."""
        found = await self._information(stream)
        return 0 if found is None else found.state.last_seq

    def wait(self, position: int, timeout_s: float) -> bool:
        """Subscribe to new packs, and also ask every second in case a notification was lost."""
        stream, connection = self._js, self._connection
        assert connection is not None

        async def heard() -> bool:
            subscription = await connection.subscribe(f"recollect.{self._name}.pack")
            deadline = time.monotonic() + timeout_s
            try:
                while await self._end(stream) < position:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        return False
                    try:
                        await subscription.next_msg(timeout=min(left, 1.0))
                    except NatsError:
                        continue
                return True
            finally:
                await subscription.unsubscribe()

        try:
            return self._run(heard(), timeout_s + _CONNECT_S)
        except StoreUnreachable:
            time.sleep(min(timeout_s, 0.2))
            return False

    # --- boxes -----------------------------------------------------------------------------------

    def get_box(self, name: str) -> Box:
        return self._run(self._got_box(self._js, name))

    def get_boxes(self, names: Sequence[str]) -> list[Box]:
        stream = self._js
        return self._run(_together(self._got_box(stream, name) for name in names), 4 * _CONNECT_S)

    async def _got_box(self, stream: JetStreamContext, name: str) -> Box:
        try:
            message = await stream.get_msg(self._side, subject=self._box(name))
        except NotFoundError:
            return Box(0, b"")
        return Box(message.seq or 0, message.data or b"")

    def get_versions(self, names: Sequence[str]) -> list[list[Box]]:
        stream = self._js

        async def every(name: str) -> list[Box]:
            found: list[Box] = []
            with suppress(NotFoundError):
                while True:
                    after = found[-1].version + 1 if found else 1
                    message = await stream.get_msg(self._side, after, subject=self._box(name), next=True)
                    found.append(Box(message.seq or after, message.data or b""))
            return found

        return self._run(_together(every(name) for name in names), 4 * _CONNECT_S)

    def put_box(self, name: str, content: bytes, version: int) -> int:
        headers = {"Nats-Expected-Last-Subject-Sequence": str(version)}
        try:
            put = self._published(self._box(name), content, headers)
        except StoreUnreachable:
            now = self.get_box(name)
            if now.version == version:
                raise
            if now.content != content:
                raise BoxMoved(name) from None
            put = now.version
        if version:
            self._delete_before(self._box(name), put)
        return put

    def delete_box(self, name: str) -> None:
        self._delete_before(self._box(name), 2**62)

    def _box(self, name: str) -> str:
        return f"recollect.{self._name}.box.{name}"

    def _delete_before(self, subject: str, before: int) -> None:
        """Delete the older messages of a subject; the server overwrites their bytes."""
        stream = self._js

        async def oldest() -> RawStreamMsg | None:
            try:
                return await stream.get_msg(self._side, 1, subject=subject, next=True)
            except NotFoundError:
                return None

        async def delete(seq: int) -> None:
            try:
                await stream.delete_msg(self._side, seq)
            except APIError as error:
                if error.err_code != _NO_SEQUENCE:  # another replica was quicker
                    raise

        while (message := self._run(oldest())) is not None and (seq := message.seq or before) < before:
            self._run(delete(seq))

    # --- blobs -----------------------------------------------------------------------------------

    def put_blob(self, content: bytes) -> str:
        digest, size = sha256(content).hexdigest(), self.pack_bytes_max
        subject = f"recollect.{self._name}.blob.{digest}"
        parts = [content[start : start + size] for start in range(0, len(content), size)]
        for number, part in enumerate(parts):
            self._published(f"{subject}.{number}", part, {})
        self._published(subject, str(len(parts)).encode(), {})
        return digest

    def get_blob(self, digest: str) -> bytes | None:
        stream, subject = self._js, f"recollect.{self._name}.blob.{digest}"

        async def one(of: str) -> bytes | None:
            try:
                return (await stream.get_msg(self._side, subject=of)).data or b""
            except NotFoundError:
                return None

        count = self._run(one(subject))
        if count is None:
            return None
        parts = [self._run(one(f"{subject}.{number}")) for number in range(int(count))]
        return None if None in parts else b"".join(part for part in parts if part is not None)

    def delete_blob(self, digest: str) -> None:
        subject = f"recollect.{self._name}.blob.{digest}"
        self._delete_before(subject, 2**62)
        self._delete_before(f"{subject}.>", 2**62)

    # --- state -----------------------------------------------------------------------------------

    def status(self) -> StoreStatus:
        troubles = (
            ()
            if self._sync is None
            else (f"whether {self.where} syncs what it acknowledges is {self._sync}",)
        )
        try:
            info = self._run(self._information(self._js))
        except StoreUnreachable as error:
            return StoreStatus(
                kind="packs in JetStream", replication="not known", troubles=(*troubles, str(error))
            )
        if info is None:
            return StoreStatus(
                kind="packs in JetStream", replication="none yet: nothing was written", troubles=troubles
            )
        copies, cluster = info.config.num_replicas or 1, info.cluster
        if copies == 1:
            replication = "none: one copy on a single server (R1)"
        else:
            behind = [peer.name for peer in (cluster.replicas if cluster else None) or () if not peer.current]
            replication = f"{copies} copies (R{copies}), leader {cluster.leader if cluster else 'unknown'}"
            if behind:
                troubles = (
                    *troubles,
                    f"the copies on {', '.join(str(name) for name in behind)} are behind or down",
                )
        return StoreStatus(kind="packs in JetStream", replication=replication, troubles=troubles)

    def close(self) -> None:
        if self._loop.is_closed():
            return
        if self._connection is not None:
            with suppress(StoreUnreachable):
                self._run(asyncio.wait_for(self._connection.close(), _REQUEST_S), _CONNECT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CONNECT_S)
        if not self._thread.is_alive():
            self._loop.close()


async def _together(asked: Iterable[Coroutine[object, object, Result]]) -> list[Result]:
    return await asyncio.gather(*asked)


def _configuration(name: str, subjects: list[str], replicas: int, *, keep: bool) -> StreamConfig:
    """Packs are never deleted; of boxes the older versions are."""
    return StreamConfig(
        name=name,
        subjects=subjects,
        storage=StorageType.FILE,
        num_replicas=replicas,
        discard=DiscardPolicy.NEW,
        deny_delete=keep,
        deny_purge=keep,
        allow_direct=True,
    )


def _syncs_always(monitor: str) -> bool | None:
    """None if it cannot be asked: a server that is down is no reason not to use the others."""
    try:
        with urlopen(f"{monitor.rstrip('/')}/jsz?config=1", timeout=_REQUEST_S) as answer:  # noqa: S310 (the user's URL)
            said = json.load(answer)
    except (OSError, ValueError):
        return None
    return bool(said.get("config", {}).get("sync_always", False))


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
