"""Servers that fail in every way, on this machine: of trackers, and of the Hub."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAILURES = ("hangs", "500", "401", "html")


class TrackerServer(ThreadingHTTPServer):
    """As much of a server of W&B as a run needs; it may fail at everything, or from some moment on."""

    daemon_threads = True

    def __init__(self, failure: str | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.failure = failure
        self.requests: list[str] = []  # paths and bodies
        self.ended = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that break the connection are what is tested."""


@contextmanager
def tracker_server(failure: str | None = None) -> Iterator[TrackerServer]:
    """A running server."""
    server = TrackerServer(failure)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: TrackerServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.requests.append(f"{self.path} {body.decode(errors='replace')}")
        match self.server.failure:
            case "hangs":
                self.server.ended.wait()
            case "500":
                self._answer(500, b"internal error")
            case "401":
                self._answer(401, b'{"errors": [{"message": "this key is not known"}]}')
            case "html":
                self._answer(200, b"<html>Please log in to the proxy</html>", "text/html")
            case _:
                self._answer(200, json.dumps(_reply(self.path, body)).encode())

    def do_PUT(self) -> None:
        self.do_POST()

    def do_GET(self) -> None:
        self.do_POST()

    def _answer(self, status: int, content: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Tests print nothing."""


def _reply(path: str, body: bytes) -> dict[str, Any]:
    """What wandb needs to go on, by the name of the query."""
    if path != "/graphql":
        return {}
    request = json.loads(body)
    operation, variables = request.get("operationName"), request.get("variables", {})
    if operation == "UpsertBucket":
        project = {"id": "1", "name": variables["project"], "entity": {"id": "1", "name": "somebody"}}
        bucket = {"id": "1", "name": variables["name"], "project": project, "historyLineCount": 0}
        return {"data": {"upsertBucket": {"bucket": bucket, "inserted": True}}}
    if operation == "CreateRunFiles":
        return {"data": {"createRunFiles": {"runID": "1", "uploadHeaders": [], "files": []}}}
    return {"data": {"entity": {"organization": {"coreWeaveOrganizationId": ""}}}}
