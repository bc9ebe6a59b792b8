"""MCP server: our tools, resources and prompts as handlers of the official SDK.

The only place where the SDK's words meet ours. Library calls are synchronous; they cross over into worker threads here
and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from reasoningbank import __version__
from reasoningbank.core.errors import BankError, InvalidInput, NotFound
from reasoningbank.core.settings import DEFAULTS, SearchSettings
from reasoningbank.core.types import DEFAULT_NAMESPACE, DEFAULT_TENANT
from reasoningbank.serve.json_schema import show_value
from reasoningbank.serve.mcp import greeting, prompts, resources, schemas, tools
from reasoningbank.serve.mcp.caller import READ, Caller, may
from reasoningbank.serve.mcp.errors import sentence
from reasoningbank.serve.mcp.project import refuse_to_guess

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]
InLane = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs a function in a thread of the tenant's own share."""

ProjectOf = Callable[[Context], Awaitable[str | None]]

CALLS_AT_ONCE = 16
FIXED_FOR_MS = 300_000
RESOURCE_NOT_FOUND = -32002
"""The code of the revisions up to 2025-11-25; later ones say "invalid params"."""


def build(
    bank_for: Callable[[Caller], Bank],
    caller_of: Callable[[Context], Caller],
    search: SearchSettings = DEFAULTS.search,
    lane_of: Callable[[Context], InLane | None] = lambda _: None,
    instructions: str = greeting.INSTRUCTIONS,
    project_of: ProjectOf | None = None,
) -> Server[Any]:
    """A server whose every request is answered from the bank of whoever sent that very request.

    `search` is what the settings of that bank, which all share, say of searching. `lane_of` says where a request's work
    is done; without it, in threads that all share. `project_of` says which project a client works in, where that is not
    the server's own; where it is not known, a call has to name it.
    """
    door = _Door(bank_for, caller_of, search, lane_of, project_of)
    server: Server[Any] = Server(
        greeting.NAME,
        version=__version__,
        title=greeting.TITLE,
        instructions=instructions,
        get_tool_input_schema=lambda name: tool.inputs if (tool := tools.BY_NAME.get(name)) is not None else None,
        on_list_tools=door.list_tools,
        on_call_tool=door.call_tool,
        on_list_resources=door.list_resources,
        on_list_resource_templates=door.list_templates,
        on_read_resource=door.read_resource,
        on_list_prompts=door.list_prompts,
        on_get_prompt=door.get_prompt,
    )
    server.middleware.append(_contain_errors)
    return server


async def _contain_errors(ctx: Context, call_next: CallNext) -> HandlerResult:
    """The outermost door: left alone, the SDK sends the text of an unexpected exception to the client."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told in the log and not to the client
        raise MCPError(types.INTERNAL_ERROR, sentence(error)) from None


class _Door:
    def __init__(
        self,
        bank_for: Callable[[Caller], Bank],
        caller_of: Callable[[Context], Caller],
        search: SearchSettings,
        lane_of: Callable[[Context], InLane | None],
        project_of: ProjectOf | None,
    ) -> None:
        self._project_of = project_of
        self._lane_of = lane_of
        self._search = search
        self._bank_for = bank_for
        self._caller_of = caller_of
        self._limiter: anyio.CapacityLimiter | None = None

    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
        _no_cursor(params)
        available = tools.offered_tools(self._caller_of(ctx), self._search)
        return _listing({"tools": [schemas.wire(tool) for tool in available]}, FIXED_FOR_MS)

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        caller = self._caller_of(ctx)
        arguments: Mapping[str, Any] = params.arguments or {}
        try:
            view = await self._view(ctx, params.name, arguments)
            reply = await self._in_thread(
                ctx, lambda: tools.call(params.name, arguments, view(self._bank_for(caller)), caller)
            )
        except InvalidInput as error:
            reply = tools.ToolReply(values=None, failure=sentence(error))
        except tools.UnknownTool:
            names = ", ".join(tool.name for tool in tools.offered_tools(caller))
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {show_value(params.name)}. Use {names}.") from None
        if reply.values is None:
            return _whole({"content": [{"type": "text", "text": reply.failure}], "isError": True})
        text = json.dumps(reply.values, ensure_ascii=False, separators=(",", ":"))
        content = [{"type": "text", "text": text}]
        return _whole({"content": content, "structuredContent": dict(reply.values), "isError": False})

    async def list_resources(self, ctx: Context, params: types.PaginatedRequestParams | None) -> Any:
        cursor = params.cursor if params is not None else None
        page = await self._read(ctx, lambda bank: resources.list_resources(bank, cursor))
        result: dict[str, Any] = {"resources": page.entries}
        if page.next_cursor is not None:
            result["nextCursor"] = page.next_cursor
        return _listing(result, 0)

    async def list_templates(self, _: Context, params: types.PaginatedRequestParams | None) -> Any:
        _no_cursor(params)
        return _listing({"resourceTemplates": resources.TEMPLATES}, FIXED_FOR_MS)

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        missing = types.INVALID_PARAMS if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else RESOURCE_NOT_FOUND
        values = await self._read(ctx, lambda bank: resources.read(bank, uri), missing=missing, about={"uri": uri})
        text = json.dumps(values, ensure_ascii=False)
        return _listing({"contents": [{"uri": uri, "mimeType": resources.MIME, "text": text}]}, 0)

    async def list_prompts(self, _: Context, params: types.PaginatedRequestParams | None) -> Any:
        _no_cursor(params)
        return _listing({"prompts": prompts.PROMPTS}, FIXED_FOR_MS)

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Any:
        text = await self._read(ctx, lambda bank: prompts.render(bank, params.name, params.arguments or {}))
        return _whole({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})

    async def _read(
        self,
        ctx: Context,
        act: Callable[[Bank], T],
        *,
        missing: int = types.INVALID_PARAMS,
        about: dict[str, str] | None = None,
    ) -> T:
        """Run what only reads, and turn a failure into an error of the protocol."""
        caller = self._caller_of(ctx)
        if not may(caller, READ):
            raise MCPError(types.INVALID_REQUEST, "This needs the scope read; this token does not have it.")
        try:
            view = await self._view(ctx)
            return await self._in_thread(ctx, lambda: act(view(self._bank_for(caller))))
        except NotFound as error:
            raise MCPError(missing, sentence(error), about) from None
        except InvalidInput as error:
            raise MCPError(types.INVALID_PARAMS, sentence(error)) from None
        except BankError as error:
            raise MCPError(types.INTERNAL_ERROR, sentence(error)) from None

    async def _view(
        self, ctx: Context, tool: str | None = None, arguments: Mapping[str, Any] | None = None
    ) -> Callable[[Bank], Bank]:
        """How the bank is seen from the project of a request. Raises InvalidInput where a tool would have to guess."""
        if self._project_of is None:
            return lambda bank: bank
        project = await self._project_of(ctx)
        # Whoever has a tenant of his own has no project of the server's before him.
        if project is None and tool in tools.BY_NAME and self._caller_of(ctx).tenant == DEFAULT_TENANT:
            refuse_to_guess(tools.BY_NAME[tool].inputs["properties"], arguments or {})
        return lambda bank: bank.for_tenant(bank.tenant, namespace=project or DEFAULT_NAMESPACE)

    async def _in_thread(self, ctx: Context, act: Callable[[], T]) -> T:
        in_lane = self._lane_of(ctx)
        if in_lane is not None:
            value: T = await in_lane(act)
            return value
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)
        # Abandoned when the client cancels: a write that has begun is finished, only its answer is dropped.
        return await anyio.to_thread.run_sync(act, abandon_on_cancel=True, limiter=self._limiter)


# The revision 2026-07-28 wants to know of each result that it is whole, and of some how long they hold. The SDK leaves
# out for older clients what they do not know.


def _whole(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "resultType": "complete"}


def _listing(result: dict[str, Any], holds_ms: int) -> dict[str, Any]:
    """Private: what is listed depends on who asks."""
    return _whole({**result, "ttlMs": holds_ms, "cacheScope": "private"})


def _no_cursor(params: types.PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "This list has one page: ask without a cursor.")
