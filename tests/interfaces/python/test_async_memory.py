"""AsyncMemory: every method of Memory, awaited; cancelling stops the waiting and never the work."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
from datetime import UTC, datetime, timedelta

import pytest

from recollect import AsyncMemory, Memory
from recollect.engine.past import PastView
from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.interfaces.python.async_memory import AsyncView


def public_methods(kind: type) -> set[str]:
    return {name for name, value in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


BLOCKING = {"serve", "mcp", "watch"}  # stay until told to stop: they get a thread of their own


@pytest.mark.parametrize("name", sorted(public_methods(Memory) - BLOCKING))
def test_every_method_of_memory_has_a_twin_with_the_same_parameters(name: str):
    twin = getattr(AsyncMemory, name, None)
    assert twin, f'add  {name} = _twin("reads", Memory.{name})  to AsyncMemory, in the lane where it belongs'
    parameters = [str(parameter) for parameter in inspect.signature(twin).parameters.values()]
    assert parameters == [str(p) for p in inspect.signature(getattr(Memory, name)).parameters.values()]
    target = twin if inspect.isasyncgenfunction(twin) else inspect.unwrap(twin)
    assert target.__doc__


@pytest.mark.parametrize("name", sorted(public_methods(PastView)))
def test_every_method_of_the_past_has_a_twin_with_the_same_parameters(name: str):
    assert inspect.signature(getattr(AsyncView, name)) == inspect.signature(getattr(PastView, name))


def test_open_takes_the_options_of_memory_open():
    assert inspect.signature(AsyncMemory.open) == inspect.signature(Memory.open)


def with_memory(tmp_path, scenario, **options):
    async def main():
        async with await AsyncMemory.open(tmp_path / "store", embedder="hash", **options) as memory:
            return await scenario(memory)

    return asyncio.run(main())


def test_a_remembered_text_can_be_recalled_explained_and_verified(tmp_path):
    async def scenario(memory: AsyncMemory):
        a = await memory.remember("Auth sessions live in Postgres", kind="decision")
        before = (await memory.status()).head
        await memory.revise(a, "Auth sessions live in Redis")
        answer = await memory.recall("where are auth sessions?", k=5)
        then = await memory.at(before)
        assert (then.seq, then.formula.name) == (before, "recollect")
        assert (await then.recall("where are auth sessions?")).hits[0].content.endswith("Postgres")
        assert (await then.get(a)).content.endswith("Postgres")
        assert answer.hits[0].content.endswith("Redis")
        assert (await memory.why(answer.id, a)).rank == 1
        assert (await memory.verify()).exact
        with pytest.raises(UnknownMemory):
            await memory.get("nobody")

    with_memory(tmp_path, scenario)


def test_many_tasks_share_one_store_and_every_recall_replays(tmp_path):
    async def scenario(memory: AsyncMemory):
        async def agent(name: int) -> list[str | None]:
            recalls = []
            for n in range(8):
                await memory.remember(f"note {n} of agent {name}", id=f"{name}-{n}")
                recalls.append((await memory.recall(f"note {n}", k=3)).id)
            return recalls

        recalls = [id_ for found in await asyncio.gather(*map(agent, range(6))) for id_ in found]
        report = await memory.verify()
        assert report.exact
        assert report.checked == len(set(recalls)) == 6 * 8

    with_memory(tmp_path, scenario)


def test_writes_land_in_the_order_in_which_they_were_begun(tmp_path):
    async def scenario(memory: AsyncMemory):
        await asyncio.gather(*(memory.remember("text", id=f"m{n}") for n in range(30)))
        return [memo.id for memo in await memory.memories()]

    assert with_memory(tmp_path, scenario) == [f"m{n}" for n in range(30)]


def test_run_gives_the_memory_and_its_result_and_reads_go_on_beside_a_long_write(tmp_path):
    async def scenario(memory: AsyncMemory):
        started, go_on = threading.Event(), threading.Event()

        def slow(inner: Memory) -> str:
            started.set()
            assert go_on.wait(30)
            return inner.remember("slow", id="slow")

        writing = asyncio.create_task(memory.run(slow))
        await asyncio.to_thread(started.wait)
        assert (await memory.recall("slow")).hits == ()
        go_on.set()
        assert await writing == "slow"
        assert [hit.id for hit in (await memory.recall("slow")).hits] == ["slow"]

    with_memory(tmp_path, scenario)


def test_a_cancelled_await_stops_waiting_and_its_work_is_done_all_the_same(tmp_path):
    async def scenario(memory: AsyncMemory):
        go_on = threading.Event()
        blocking = asyncio.create_task(memory.run(lambda _: go_on.wait(30)))
        queued = asyncio.create_task(memory.remember("told before the cancel", id="kept"))
        await asyncio.sleep(0)
        for task in (blocking, queued):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await memory.memories() == []
        go_on.set()
        await memory.run(lambda _: None)
        assert [memo.id for memo in await memory.memories()] == ["kept"]
        assert (await memory.recall("told before")).hits[0].id == "kept"
        assert (await memory.verify()).exact

    with_memory(tmp_path, scenario)


def test_work_that_fails_after_its_await_was_cancelled_is_only_logged(tmp_path, caplog):
    unheard: list[dict[str, object]] = []

    async def scenario(memory: AsyncMemory):
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        go_on = threading.Event()
        blocking = asyncio.create_task(memory.run(lambda _: go_on.wait(30)))
        failing = asyncio.create_task(memory.remember("", id="bad"))
        await asyncio.sleep(0)
        failing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await failing
        del failing
        go_on.set()
        await blocking
        await memory.run(lambda _: None)
        gc.collect()

    with caplog.at_level("INFO", logger="recollect.async_memory"):
        with_memory(tmp_path, scenario)
    assert unheard == []
    assert "no longer waited for failed: content is empty" in caplog.text


def test_an_unknown_lane_is_refused_by_name(tmp_path):
    async def scenario(memory: AsyncMemory):
        with pytest.raises(InvalidInput, match="there is no lane 'x'; there are writes, reads, long"):
            await memory.run(lambda _: None, lane="x")

    with_memory(tmp_path, scenario)


def test_close_waits_for_work_that_was_begun_and_takes_no_more(tmp_path):
    async def main():
        memory = await AsyncMemory.open(tmp_path / "store", embedder="hash")
        go_on = threading.Event()
        first = asyncio.create_task(memory.run(lambda _: go_on.wait(30)))
        second = asyncio.create_task(memory.remember("in flight", id="late"))
        await asyncio.sleep(0)
        closing = [asyncio.create_task(memory.close()) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(InvalidInput, match="closed"):
            await memory.status()
        go_on.set()
        await asyncio.gather(first, second, *closing)

    asyncio.run(main())
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        assert memory.get("late").content == "in flight"


def test_the_log_is_an_async_stream_that_follows_what_comes(tmp_path):
    async def scenario(memory: AsyncMemory):
        await memory.remember_many([{"content": f"n{n}", "id": f"m{n}"} for n in range(300)])
        old = [event async for event in memory.log(type="memory.ingested")]
        assert len(old) == 300
        assert [event.seq for event in old] == [e.seq for e in memory.memory.log(type="memory.ingested")]
        last = [event.seq async for event in memory.log(limit=2)]
        assert last == [300, 301]
        seen = []
        await memory.remember("one more", id="new")
        async for event in memory.log(since=301, follow=True):
            seen.append(event.seq)
            if event.seq == 302:
                await memory.remember_many(["x", "y"])
            if event.seq == 304:
                break
        assert seen == [301, 302, 303, 304]
        with pytest.raises(InvalidInput, match="limit"):
            await anext(memory.log(limit=0))
        soon = datetime.now(UTC) + timedelta(seconds=1)
        assert [event.seq async for event in memory.log(since=304, until=soon, follow=True)] == [304]
        with pytest.raises(InvalidInput, match="not in this log"):
            await anext(memory.log(since=400))
        to_come = asyncio.ensure_future(anext(memory.log(since=305, follow=True)))
        await asyncio.sleep(0)
        await memory.remember("late", id="late")
        assert (await to_come).seq == 305

    with_memory(tmp_path, scenario)
