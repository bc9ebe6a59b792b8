"""Stands in for a Qdrant server: its REST requests, answered by Qdrant's own engine in this process (`qdrant-edge-py`).

    python -m bench.qdrant_edge_server --port 6333 --folder /tmp/qdrant

Knows the requests that our adapter makes and no others. Collections are shards of the engine: filters, sparse and dense
search, facets and counts are Qdrant's; what a server adds (its REST layer, replicas, snapshots) is not here.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import qdrant_edge as edge

Json = Any
Answer = tuple[int, Json]
Intercept = Callable[[str, str, Json], Answer | None]
"""Told method, path and body of each request; may answer in the server's place."""


class EdgeServer:
    """Listens on loopback until it is closed."""

    def __init__(
        self, folder: Path, *, port: int = 0, key: str | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.collections = _Collections(folder)
        self.key = key
        self.intercept: Intercept = lambda *_: None
        self._http = _Listener(("127.0.0.1", port), _handler(self))
        self._scheme = "qdrant" if tls is None else "qdrants"
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def answer(self, method: str, path: str, body: Json) -> Answer:
        told = self.intercept(method, path, body)
        return told if told is not None else self.collections.answer(method, path, body)

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._http.hang_up()
        self._thread.join()
        self.collections.close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed, or a connection that a test cuts off."""

    def hang_up(self) -> None:
        """End the connections that are kept for the next request."""
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _handler(server: EdgeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def _do(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            if server.key is not None and self.headers.get("api-key") != server.key:
                status, result = 401, _error("Invalid API key or JWT")
            else:
                status, result = server.answer(self.command, self.path, body)
            data = json.dumps(result).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do_DELETE = _do  # noqa: N815 - names of the library

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the library's name
            """Silent."""

    return Handler


class _Collections:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # What an earlier server left is there again.
        there = sorted(folder.iterdir()) if folder.is_dir() else []
        self._shards = {place.name: edge.EdgeShard.load(str(place)) for place in there}
        self._lock = threading.RLock()

    def answer(self, method: str, path: str, body: Json) -> Answer:
        parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
        if parts[0] != "collections":
            return 404, _error("no such path")
        if len(parts) == 1:
            return _result({"collections": [{"name": name} for name in self._shards]})
        name, rest = parts[1], "/".join(parts[2:])
        if rest == "exists":
            return _result({"exists": name in self._shards})
        if not rest and method == "PUT":
            return self._create(name, body)
        if not rest and method == "DELETE":
            return _result(self.drop(name))
        act = _ACTS.get((method, rest))
        if act is None:
            return 404, _error(f"no such path {method} {path}")
        shard = self._shards.get(name)
        if shard is None:
            return 404, _error(f"Not found: Collection `{name}` doesn't exist!")
        try:
            return _result(act(shard, body))
        except Exception as error:  # noqa: BLE001 - the engine raises plain exceptions
            text = str(error)
            return (404 if text.startswith("No point") else 400), _error(text)

    def _create(self, name: str, body: Json) -> Answer:
        with self._lock:
            if name in self._shards:
                return 409, _error(f"Wrong input: Collection `{name}` already exists!")
            dense = {
                vector: edge.EdgeVectorParams(size=given["size"], distance=getattr(edge.Distance, given["distance"]))
                for vector, given in body["vectors"].items()
            }
            sparse = {vector: edge.EdgeSparseVectorParams() for vector in body.get("sparse_vectors") or {}}
            place = self._folder / name
            shutil.rmtree(place, ignore_errors=True)
            self._shards[name] = edge.EdgeShard.create(
                str(place), edge.EdgeConfig(vectors=dense, sparse_vectors=sparse)
            )
        return _result(True)

    def drop(self, name: str) -> bool:
        with self._lock:
            shard = self._shards.pop(name, None)
            if shard is None:
                return False
            shard.close()
            shutil.rmtree(self._folder / name, ignore_errors=True)
            return True

    def names(self) -> list[str]:
        return list(self._shards)

    def scroll(self, name: str) -> list[Json]:
        """The ids of all points of a collection."""
        found, _ = self._shards[name].scroll(edge.ScrollRequest(limit=1_000_000))
        return [{"id": str(point.id)} for point in found]

    def optimize(self) -> None:
        """As a server does by itself in the background: graphs of vectors, sparse indexes that do not change."""
        for shard in self._shards.values():
            shard.optimize()

    def close(self) -> None:
        for name in list(self._shards):
            self._shards.pop(name).close()


def _result(result: Json) -> Answer:
    return 200, {"result": result, "status": "ok", "time": 0.0}


def _error(text: str) -> Json:
    return {"status": {"error": text}, "time": 0.0}


# ---------------------------------------------------------------- requests


def _index(shard: edge.EdgeShard, body: Json) -> Json:
    given = dict(body["field_schema"])
    kind = {"keyword": edge.KeywordIndexParams, "integer": edge.IntegerIndexParams}[given.pop("type")]
    return _update(shard, edge.UpdateOperation.create_field_index(body["field_name"], kind(**given)))


def _upsert(shard: edge.EdgeShard, body: Json) -> Json:
    points = [edge.Point(p["id"], _vectors(p["vector"]), p.get("payload")) for p in body["points"]]
    return _update(shard, edge.UpdateOperation.upsert_points(points))


def _update_vectors(shard: edge.EdgeShard, body: Json) -> Json:
    points = [edge.PointVectors(p["id"], _vectors(p["vector"])) for p in body["points"]]
    return _update(shard, edge.UpdateOperation.update_vectors(points))


def _delete_vectors(shard: edge.EdgeShard, body: Json) -> Json:
    return _update(shard, edge.UpdateOperation.delete_vectors_by_filter(_filter(body["filter"]), body["vector"]))


def _delete(shard: edge.EdgeShard, body: Json) -> Json:
    return _update(shard, edge.UpdateOperation.delete_points(body["points"]))


def _set_payload(shard: edge.EdgeShard, body: Json) -> Json:
    return _update(shard, edge.UpdateOperation.set_payload(body["points"], body["payload"]))


def _update(shard: edge.EdgeShard, operation: edge.UpdateOperation) -> Json:
    shard.update(operation)
    return {"operation_id": 0, "status": "completed"}


def _retrieve(shard: edge.EdgeShard, body: Json) -> Json:
    kept = shard.retrieve(body["ids"], body.get("with_payload"), body.get("with_vector"))
    return [{"id": str(point.id), "payload": point.payload, "vector": _plain(point.vector)} for point in kept]


def _query(shard: edge.EdgeShard, body: Json) -> Json:
    return _points(shard.query(_query_request(body)))


def _query_batch(shard: edge.EdgeShard, body: Json) -> Json:
    asked = edge.QueryBatchRequest([_query_request(one) for one in body["searches"]])
    return [_points(found) for found in shard.query_batch(asked)]


def _count(shard: edge.EdgeShard, body: Json) -> Json:
    return {"count": shard.count(edge.CountRequest(body.get("exact", True), _filter(body.get("filter"))))}


def _facet(shard: edge.EdgeShard, body: Json) -> Json:
    asked = edge.FacetRequest(body["key"], body.get("limit", 10), body.get("exact", False), _filter(body.get("filter")))
    return {"hits": [{"value": hit.value, "count": hit.count} for hit in shard.facet(asked).hits]}


_ACTS: dict[tuple[str, str], Callable[[edge.EdgeShard, Json], Json]] = {
    ("PUT", "index"): _index,
    ("PUT", "points"): _upsert,
    ("PUT", "points/vectors"): _update_vectors,
    ("POST", "points/vectors/delete"): _delete_vectors,
    ("POST", "points/delete"): _delete,
    ("POST", "points/payload"): _set_payload,
    ("POST", "points"): _retrieve,
    ("POST", "points/query"): _query,
    ("POST", "points/query/batch"): _query_batch,
    ("POST", "points/count"): _count,
    ("POST", "facet"): _facet,
}


# ---------------------------------------------------------------- their parts


def _query_request(body: Json) -> edge.QueryRequest:
    asked = body["query"]
    nearest = asked["nearest"] if isinstance(asked, dict) and "nearest" in asked else asked
    return edge.QueryRequest(
        limit=body.get("limit", 10),
        query=edge.Query.Nearest(_vector(nearest), using=body["using"]),
        filter=_filter(body.get("filter")),
        with_payload=body.get("with_payload"),
    )


def _points(found: list[edge.ScoredPoint]) -> Json:
    return {"points": [{"id": str(p.id), "version": 0, "score": p.score, "payload": p.payload} for p in found]}


def _vectors(given: Json) -> Any:
    return {name: _vector(vector) for name, vector in given.items()}


def _vector(given: Json) -> Any:
    return edge.SparseVector(given["indices"], given["values"]) if isinstance(given, dict) else given


def _plain(vector: Any) -> Json:
    if not isinstance(vector, dict):
        return vector
    sparse = edge.SparseVector
    return {
        name: {"indices": v.indices, "values": v.values} if isinstance(v, sparse) else v for name, v in vector.items()
    }


def _filter(given: Json) -> Any:
    if given is None:
        return None
    return edge.Filter(**{part: [_condition(one) for one in given[part]] for part in given if given[part] is not None})


def _condition(given: Json) -> Any:
    if "has_id" in given:
        return edge.HasIdCondition(set(given["has_id"]))
    if "has_vector" in given:
        return edge.HasVectorCondition(given["has_vector"])
    if "key" not in given:
        return _filter(given)
    match = given["match"]
    asked = edge.MatchAny(match["any"]) if "any" in match else edge.MatchValue(match["value"])
    return edge.FieldCondition(given["key"], match=asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=6333)
    parser.add_argument("--folder", type=Path, required=True)
    asked = parser.parse_args()
    server = EdgeServer(asked.folder, port=asked.port)
    print(server.url, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
