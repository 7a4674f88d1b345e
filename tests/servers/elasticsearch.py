"""OpenSearch and Elasticsearch from their jars, and nginx before them for logins and TLS.

The jars have no security, so nginx checks logins and certificates, and answers as it does before
any server. No client library serves both products, so this uses plain HTTP.
"""

import base64
import http.client
import json
import os
import signal
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from tests.servers import Arrival, Server, Settings, search_node
from tests.servers.machine import find_program, ports
from tests.servers.process import Process
from tests.servers.tls import Tls

PRODUCTS = ("opensearch", "elasticsearch")

USER = "alice"
PASSWORD = "alice-s3cret"
API_KEY = "VuaCfGcBCdbkQm-e5aOx:ui2lp2-s3cret"
"""`id:key`, as Elasticsearch shows a new key."""

_NGINX = """\
daemon off; worker_processes 1; {user}pid {folder}/nginx.pid; error_log stderr;
events {{ worker_connections 256; }}
http {{
  access_log off; client_max_body_size 100m; client_body_buffer_size 8m;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  upstream node {{ server 127.0.0.1:{node}; keepalive 32; }}
  map_hash_bucket_size 256;
  map $http_authorization $known {{ default 0; "{basic}" 1; "{api_key}" 1; }}
  ssl_certificate {cert}; ssl_certificate_key {key};
  server {{ listen 127.0.0.1:{plain}; include {folder}/node.conf; }}
  server {{ listen 127.0.0.1:{narrow}; include {folder}/node.conf; client_max_body_size 32k; }}
  server {{ listen 127.0.0.1:{tls} ssl; include {folder}/node.conf; }}
  server {{ listen 127.0.0.1:{mtls} ssl; include {folder}/node.conf;
    ssl_client_certificate {ca}; ssl_verify_client on; }}
}}
"""
_NODE = """\
if ($known = 0) { return 401; }
proxy_http_version 1.1; proxy_buffers 32 64k; proxy_set_header Connection "";
proxy_set_header Host $http_host; proxy_set_header Authorization "";
location / { proxy_pass http://node; }
location /below/ { proxy_pass http://node/; }
location /page/ { default_type text/html; return 200 "<html>Welcome</html>"; }
location /json/ { default_type application/json; return 200 '{"status": "ok"}'; }
location /moved/ { return 301 https://elsewhere.example/; }
"""


_PAGE = 10_000


class RefusedError(Exception):
    """The server refused the request."""


class SearchServer(Server):
    """Its `destination` is an index."""

    kind = "elasticsearch"
    destination = "events"
    password_option = "password"
    refusals = (RefusedError, OSError, http.client.HTTPException)

    def __init__(self, process: Process, tls: Tls, chosen: dict[str, int]) -> None:
        super().__init__(process, tls, chosen["plain"])
        self._ports = chosen

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request to the node itself, without nginx.

        Raises:
            RefusedError: the server refused it.
        """
        return json.loads(
            self._raw(method, path, None if body is None else json.dumps(body).encode())
        )

    def settings(self, **overrides: str) -> Settings:
        return self._settings("plain", **{"username": USER, "password": PASSWORD, **overrides})

    def api_key_settings(self, **overrides: str) -> Settings:
        """Return `settings` with an API key as the login."""
        return self._settings("plain", **{"api_key": API_KEY, **overrides})

    def encrypted(self, *, demanding: bool) -> Settings:
        return {"url": f"https://127.0.0.1:{self._ports['mtls' if demanding else 'tls']}"}

    def _settings(self, port: str, **overrides: str) -> Settings:
        return {
            "url": f"http://127.0.0.1:{self._ports[port]}",
            "index": self.destination,
            **overrides,
        }

    def narrow_settings(self, **overrides: str) -> Settings:
        """Return `settings` for a proxy that accepts requests of at most 32 KiB."""
        url = f"http://127.0.0.1:{self._ports['narrow']}"
        return self.settings(**{"url": url, **overrides})

    def show_certificate(self) -> None:
        pid = int((self.process.folder / "nginx.pid").read_text())
        os.kill(pid, signal.SIGHUP)
        self.wait_until_shown(self._ports["mtls"])

    def write(self, key: str, body: bytes) -> None:
        self._raw("PUT", f"/{self.destination}/_doc/{quote(key, safe='')}", body)

    def received(self, destination: str = "") -> list[Arrival]:
        """See `Server`; a document whose id is no `bucket/key` has no key."""
        index = destination or self.destination
        try:
            self.request("POST", f"/{index}*/_refresh")  # its guard, too
            hits = list(self._hits(index))
        except RefusedError:
            return []
        arrivals = [
            Arrival(
                body=bytes(hit.source),
                key=hit.id if "/" in hit.id else "",
                time=str(hit.fields.get("@timestamp", [""])[0]),
            )
            for hit in hits
        ]
        return sorted(arrivals, key=lambda hit: hit.key)

    def _hits(self, index: str) -> Iterator["_Hit"]:
        """Yield all documents, in pages of the largest size."""
        query: Any = {"size": _PAGE, "sort": ["_seq_no"], "docvalue_fields": ["@timestamp"]}
        while True:
            response = self._raw("POST", f"/{index}/_search", json.dumps(query).encode())
            hits = msgspec.json.decode(response, type=_Answer).hits.hits
            yield from hits
            if len(hits) < _PAGE:
                return
            query["search_after"] = hits[-1].sort

    def clear(self) -> None:
        for index in self.request("GET", "/_cat/indices?format=json&expand_wildcards=all"):
            self.request("DELETE", f"/{index['index']}")
        defaults = {"*": None}
        self.request("PUT", "/_cluster/settings", {"persistent": defaults, "transient": defaults})

    def _raw(self, method: str, path: str, body: bytes | None) -> bytes:
        node = {"url": f"http://127.0.0.1:{self._ports['node']}"}
        return _request(node, method, path, body, 60)


class _Hit(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    source: msgspec.Raw = msgspec.field(name="_source")  # the document byte for byte
    fields: dict[str, list[Any]] = {}
    sort: list[Any] = []


class _Hits(msgspec.Struct):
    hits: list[_Hit]


class _Answer(msgspec.Struct):
    hits: _Hits


def start(folder: Path, tls: Tls, *, product: str = PRODUCTS[0]) -> SearchServer:
    """Start the product with nginx before it; see `servers.Module.start`."""
    nginx, node = find_program("nginx"), search_node.command(product)
    folder.mkdir(parents=True, exist_ok=True)
    chosen = ports(folder, "plain", "narrow", "tls", "mtls", "node")
    (folder / "node.conf").write_text(_NODE)
    (folder / "nginx.conf").write_text(
        _NGINX.format(
            **chosen,
            folder=folder,
            user="user root; " if os.geteuid() == 0 else "",
            cert=tls.server_cert,
            key=tls.server_key,
            ca=tls.ca,
            basic=authorization({"username": USER, "password": PASSWORD}),
            api_key=authorization({"api_key": API_KEY}),
        )
    )
    front = [nginx, "-c", str(folder / "nginx.conf"), "-p", str(folder)]

    def ready() -> None:
        _request(server.settings(), "GET", "/", None, 2)
        if server.request("GET", "/_cluster/health?wait_for_status=yellow&timeout=1s")["timed_out"]:
            raise RefusedError("its indices are not ready yet")
        # The first write takes Java a second or two: too long for the time-outs of the tests.
        server.request("PUT", "/first/_doc/first", {})
        server.request("DELETE", "/first")

    process = Process(
        [*node, str(folder), str(chosen["node"]), *front],
        folder,
        ready=ready,
        not_ready_yet=SearchServer.refusals,
    )
    server = SearchServer(process, tls, chosen)
    process.start()
    return server


def _request(
    settings: Settings, method: str, path: str, body: bytes | None, timeout: float
) -> bytes:
    connection = http.client.HTTPConnection(urlsplit(settings["url"]).netloc, timeout=timeout)
    headers = {"Authorization": authorization(settings), "Content-Type": "application/json"}
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = response.read()
    finally:
        connection.close()
    if response.status >= HTTPStatus.BAD_REQUEST:
        raise RefusedError(f"{response.status}: {answer.decode()}")
    return answer


def authorization(settings: Settings) -> str:
    if "api_key" in settings:
        return "ApiKey " + base64.b64encode(settings["api_key"].encode()).decode()
    login = f"{settings.get('username', '')}:{settings.get('password', '')}"
    return "Basic " + base64.b64encode(login.encode()).decode()
