"""The OpenAPI 3.1 document, made from the table of endpoints."""

from __future__ import annotations

from typing import Any

from reasoningbank import __version__
from reasoningbank.core.drafts import MAX_TITLE_CHARS
from reasoningbank.core.frozen import replace
from reasoningbank.core.settings import DEFAULTS, Settings
from reasoningbank.exchange.graph_files.graph_export import GRAPH_FORMATS
from reasoningbank_server import graph_schemas, schemas
from reasoningbank_server.endpoint import Endpoint, Parameter
from reasoningbank_server.problems import CODES, MEDIA_TYPE
from reasoningbank_server.request import parameters_of
from reasoningbank_server.routes import ENDPOINTS, OF_PLUGINS
from reasoningbank_server.streams import LINES

_ALWAYS = (400, 401, 403, 421, 429, 431, 503)
_WITH_BODY = (408, 413, 415)
_KEY_HEADER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key with the same request is done once, and answered alike for a day.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The ETag that the memory was read with: changed only if nobody else was faster.",
    "schema": {"type": "string", "pattern": '^("[0-9]{1,15}"|\\*)$'},
}


def document(public_url: str | None = None, settings: Settings = DEFAULTS) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        in_force = replace(endpoint, body=_in_force(endpoint, settings))
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(in_force)
    for path, operations in _BY_HAND.items():
        paths.setdefault(path, {}).update(operations)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ReasoningBank",
            "version": __version__,
            "description": "A memory that lets AI agents learn what works.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": public_url or "/"}],
        "security": [{}, {"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": {
                **schemas.COMPONENTS,
                **graph_schemas.COMPONENTS,
                **{name: schema for routes in OF_PLUGINS for name, schema in routes.schemas.items()},
            },
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "responses": {
                str(status): {
                    "description": "; ".join(text[5:] for text in CODES.values() if text.startswith(f"{status}:")),
                    "content": {MEDIA_TYPE: {"schema": schemas.ref("Problem")}},
                }
                for status in sorted({int(text[:3]) for text in CODES.values()})
            },
        },
    }


def _in_force(endpoint: Endpoint, settings: Settings) -> Any:
    """The body of a request with the defaults and limits that the bank's settings give it."""
    if endpoint.body is None or "min_confidence" not in endpoint.body["properties"]:
        return endpoint.body
    fields, search = endpoint.body["properties"], settings.search
    least = settings.injection_threshold if endpoint.path == "/v1/inject" else search.min_confidence
    most = fields["limit"]["maximum"] if search.max_limit is None else search.max_limit
    overrides = {
        "limit": {**fields["limit"], "maximum": most, "default": min(search.default_limit, most)},
        "min_confidence": {**fields["min_confidence"], "default": least},
        "profile": {**fields["profile"], "default": search.profile},
        "links": {**fields["links"], "default": search.links},
    }
    return {**endpoint.body, "properties": {**fields, **overrides}}


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    parameters = [_path_parameter(name) for name in ("id", "key") if f"{{{name}}}" in endpoint.path]
    parameters += [_query_parameter(parameter) for parameter in parameters_of(endpoint)]
    parameters += [_KEY_HEADER] if endpoint.writes else []
    parameters += [_IF_MATCH] if endpoint.takes_if_match else []
    words = [part for part in endpoint.path.removeprefix("/v1/").split("/") if not part.startswith("{")]
    suffix = "_one" if endpoint.path.endswith("}") else ""
    operation: dict[str, Any] = {
        "operationId": f"{endpoint.method.lower()}_{'_'.join(words)}{suffix}",
        "summary": endpoint.summary,
        "tags": [endpoint.group],
        "x-scope": endpoint.scope,
        "parameters": parameters,
        "responses": _responses(endpoint),
    }
    if endpoint.body is not None:
        content = {"application/json": {"schema": endpoint.body, "example": endpoint.example}}
        operation["requestBody"] = {"required": "required" in endpoint.body, "content": content}
    return operation


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    success: dict[str, Any] = {"description": endpoint.summary}
    if endpoint.reply is not None:
        success["content"] = {"application/json": {"schema": endpoint.reply}}
    statuses = {*_ALWAYS, *endpoint.errors}
    statuses |= set(_WITH_BODY) if endpoint.body is not None else set()
    statuses |= {404} if "{" in endpoint.path or endpoint.path == "/v1/links" else set()
    statuses |= {404} if endpoint.body is not None and "used" in endpoint.body["properties"] else set()
    statuses |= {422, 507} if endpoint.writes else set()
    responses: dict[str, Any] = {str(endpoint.status): success, **_problems(statuses)}
    if any(parameter.name == "erase" for parameter in endpoint.query):
        responses["204"] = {"description": "It is gone"}
    return responses


def _problems(statuses: set[int]) -> dict[str, Any]:
    return {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}


def _path_parameter(name: str) -> dict[str, Any]:
    about = "an id, or a key of the namespace" if name == "id" else "a key of the namespace"
    schema = {"type": "string", "minLength": 1, "maxLength": MAX_TITLE_CHARS}
    return {"name": name, "in": "path", "required": True, "description": about, "schema": schema}


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    schema = dict(parameter.schema)
    if parameter.repeated:
        schema = {"type": "array", "items": schema, "maxItems": 10}
    entry = {"name": parameter.name, "in": "query", "required": False, "schema": schema}
    return {**entry, "description": parameter.about} if parameter.about else entry


# ---------------------------------------------------------------- what is no row of the table


def _stream_operation(
    name: str, summary: str, media_type: str, scope: str, parameters: tuple[Parameter, ...], schema: Any = None
) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "tags": ["streams"],
        "x-scope": scope,
        "parameters": [_query_parameter(parameter) for parameter in parameters],
        "responses": {
            "200": {"description": summary, "content": {media_type: {"schema": schema or {"type": "string"}}}},
            **_problems({*_ALWAYS, *_WITH_BODY}),
        },
    }


AFTER = Parameter(name="after", schema=schemas.text(400), about="a cursor; without it, from now on")
DRY_RUN = Parameter(name="dry_run", schema=schemas.FLAG, about="only say what would happen")
IMPORTED = Parameter(name="namespace", schema=schemas.NAMESPACE, about="for lines that name none")
RESTORED = Parameter(
    name="restore",
    schema=schemas.FLAG,
    about="it is an export of this very bank: believe what it claims; for the operator who speaks for the user",
)
EXPORTED = Parameter(name="namespace", schema=schemas.NAMESPACE, about="only this one")
EXPORTED_AS = Parameter(
    name="as",
    schema=schemas.one_of(("lessons", "memories")),
    about="only active memories, in the field names of other systems",
)
GRAPH_FORM = Parameter(
    name="format",
    schema=schemas.one_of(GRAPH_FORMATS, default="graphml"),
    about="for NetworkX, Gephi and yEd; for Neo4j; nodes and links for a drawing",
)
GRAPH_CONVERSATION = Parameter(name="conv_id", schema=schemas.NAME, about="only this conversation")

_IMPORT = {
    **_stream_operation(
        "post_import",
        "Take over lines of an export",
        "application/json",
        "write",
        (DRY_RUN, IMPORTED, RESTORED),
        schemas.ref("Imported"),
    ),
    "requestBody": {
        "required": True,
        "content": {
            LINES: {
                "schema": {"type": "string"},
                "example": '{"type":"memory","title":"Wrap errors","content":"Use fmt.Errorf with %w."}\n',
            }
        },
    },
}
_IMPORT["parameters"].append(_KEY_HEADER)
_IMPORT["responses"].update(_problems({422, 507}))
_PUBLIC = {"security": [{}], "tags": ["server"]}


def _public(name: str, summary: str, **properties: Any) -> dict[str, Any]:
    ok = {"description": summary, "content": {"application/json": {"schema": schemas.out(**properties)}}}
    return {
        **_PUBLIC,
        "operationId": name,
        "summary": summary,
        "responses": {"200": ok, **_problems({400, 421, 431, 503})},
    }


_BY_HAND: dict[str, dict[str, Any]] = {
    "/v1/changes/stream": {
        "get": _stream_operation(
            "get_changes_stream", "Changes as server-sent events", "text/event-stream", "read", (AFTER,)
        )
    },
    "/v1/export": {
        "get": _stream_operation(
            "get_export", "Every record of the tenant as JSON Lines", LINES, "read", (EXPORTED, EXPORTED_AS)
        )
    },
    "/v1/graph/export": {
        "get": _stream_operation(
            "get_graph_export",
            "The memory graph of a namespace as GraphML, Cypher or JSON",
            "text/plain",
            "read",
            (GRAPH_FORM, GRAPH_CONVERSATION, EXPORTED),
        )
    },
    "/v1/import": {"post": _IMPORT},
    "/v1/backup": {
        "get": _stream_operation("get_backup", "A copy of the whole bank", "application/vnd.sqlite3", "operator", ())
    },
    "/metrics": {"get": _stream_operation("get_metrics", "Counters for Prometheus", "text/plain", "operator", ())},
    "/healthz": {"get": _public("get_health", "The process answers", status=schemas.TEXT)},
    "/readyz": {"get": _public("get_ready", "The bank can be read", status=schemas.TEXT, distilling=schemas.FLAG)},
}
STREAMED_PATHS = tuple(_BY_HAND)
