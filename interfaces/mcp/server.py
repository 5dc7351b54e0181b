"""The server: tools, resources and prompts of one store, put together for the official SDK.

Work on the store runs in a worker thread; the event loop only reads and writes messages. A call that was
refused, or failed, is a result with `isError` whose text says what to do; a tool, prompt or resource that does not
exist is an error of the protocol. A cancelled call is no longer waited for: what it had handed to a worker is done all
the same, whole; one that still waited for the model leaves no trace.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from anyio import move_on_after
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from recollect.engine.safe_text import block, closed
from recollect.events.errors import RecollectError
from recollect.interfaces.common.tasks import background_task
from recollect.interfaces.common.version import __version__
from recollect.interfaces.mcp import arguments, prompts, resources
from recollect.interfaces.mcp.background import background_work
from recollect.interfaces.mcp.lazy_store import CLOSE_S, LazyStore
from recollect.interfaces.mcp.profiles import tools_of, unknown
from recollect.interfaces.mcp.progress import Meter, report_meter
from recollect.interfaces.mcp.tool import Call, Lane, Scope, Tool

if TYPE_CHECKING:
    from recollect.interfaces.python.memory import Memory

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams | None
log = logging.getLogger("recollect.mcp")

_GREETING_S = 0.1
"""Time for the handshake before the store is opened: importing the engine holds the interpreter up."""

INSTRUCTIONS = (
    "A memory that outlives conversations. Recall before answering anything that earlier conversations may have "
    "settled, and before remembering something that may be known already. Remember decisions, preferences and "
    "facts that will matter later, one per call, written so that they stand alone. Revise what has changed, forget "
    "what is wrong. Every recall has an id (r12): name it when you are asked why you said something."
)


class McpHandlers:
    """What one server does for each kind of request."""

    def __init__(self, lazy_store: LazyStore, scope: Scope) -> None:
        self._lazy_store = lazy_store
        self._scope = scope
        self._tools = tools_of(scope.profile)

    def server(self) -> Server[None]:
        return Server(
            "recollect",
            version=__version__,
            title="Recollect",
            instructions=INSTRUCTIONS,
            lifespan=self._lifespan,
            get_tool_input_schema=lambda name: (
                self._tools[name].input_schema if name in self._tools else None
            ),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
        )

    @asynccontextmanager
    async def _lifespan(self, _: Server[None]) -> AsyncIterator[None]:
        """The store is opened beside the handshake, never before it, and closed when the client is gone.

        Closing waits for work that was begun, but not for ever: the log is whole whenever a process ends.
        """
        soon = asyncio.get_running_loop().call_later(_GREETING_S, self._lazy_store.start)
        beside = asyncio.create_task(background_work(self._lazy_store, self._scope))
        try:
            yield
        finally:
            soon.cancel()
            beside.cancel()
            with move_on_after(CLOSE_S, shield=True):
                await self._lazy_store.close()

    # --- tools -----------------------------------------------------------------------------------

    async def list_tools(self, _: Context, __: Page) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[described(tool) for tool in self._tools.values()])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, unknown(params.name, self._scope.profile))
        try:
            return await self._call(tool, context, params.arguments)
        except RecollectError as error:
            return _refused(str(error))
        except OSError as error:
            log.exception("%s failed", tool.name)
            return _refused(f"{tool.name} failed: {error}; try again")
        except Exception as error:
            log.exception("%s failed", tool.name)
            return _refused(
                f"{tool.name} failed unexpectedly ({type(error).__name__}: {error}); see the server's log"
            )

    async def _call(
        self, tool: Tool, context: Context, given: Mapping[str, object] | None
    ) -> types.CallToolResult:
        parsed = arguments.parse(tool.arguments, given, tool=tool.name)
        meter = Meter()
        async with background_task(report_meter(meter, context.session.report_progress)):
            if tool.needs_model(parsed):
                meter.waiting_for = "the model to load"
                await self._lazy_store.model()
                meter.waiting_for = None
            result = await self._run(
                lambda memory: tool.run(memory, parsed, self._call_context(meter)), lane=tool.lane
            )
        return types.CallToolResult(
            content=[types.TextContent(text=tool.show(result))],
            structured_content=msgspec.to_builtins(result),
        )

    def _call_context(self, progress: Callable[[int, int], None]) -> Call:
        return Call(scope=self._scope, progress=progress)

    async def _run(self, function: Callable[[Memory], T], *, lane: Lane) -> T:
        return await (await self._lazy_store.memory()).run(function, lane=lane)

    # --- resources -------------------------------------------------------------------------------

    async def list_resources(self, _: Context, page: Page) -> types.ListResourcesResult:
        cursor = page.cursor if page is not None else None
        return await self._read(lambda memory: resources.listed(memory, cursor))

    async def list_templates(self, _: Context, __: Page) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def read_resource(
        self, _: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await self._read(lambda memory: resources.read(memory, uri))
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def _read(self, function: Callable[[Memory], T]) -> T:
        """Read for a resource; a refusal is an error of the protocol."""
        try:
            return await self._run(function, lane="reads")
        except RecollectError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None

    # --- prompts ---------------------------------------------------------------------------------

    async def list_prompts(self, _: Context, __: Page) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=kind.name, title=kind.title, description=kind.description,
                    arguments=[
                        types.PromptArgument(
                            name=kind.argument, description=kind.argument_description, required=True
                        )
                    ],
                )
                for kind in prompts.PROMPTS.values()
            ]
        )  # fmt: skip

    async def get_prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        try:
            kind, value = prompts.subject(params.name, params.arguments)
            call = self._call_context(Meter())
            text = await self._run(lambda memory: prompts.compose(memory, kind, value, call), lane="writes")
        except RecollectError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=kind.description, messages=[message])


def described(tool: Tool) -> types.Tool:
    """A tool as the protocol lists it."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads,
            destructive_hint=tool.replaces,
            idempotent_hint=tool.reads or tool.repeatable,
            open_world_hint=False,
        ),
    )


def _refused(problem: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=closed(block(problem)))], is_error=True)
