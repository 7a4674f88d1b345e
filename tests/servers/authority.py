"""nsqd with the HTTP service that it asks what a secret may do; they start and end together.

    python -m tests.servers.authority FOLDER PROGRAM ARGUMENT …

FOLDER/authority.json holds its port on 127.0.0.1 and, by secret, the pattern of the topics that it
may publish to and read. It ends with the program, and ends it in order on SIGTERM.
"""

import json
import signal
import subprocess
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

TTL_SECONDS = 3600


class Authority(BaseHTTPRequestHandler):
    """Answers GET /auth?secret=… as nsqd expects it; 403 for an unknown secret."""

    topics: dict[str, str]

    def do_GET(self) -> None:
        (secret,) = parse_qs(urlsplit(self.path).query).get("secret", [""])
        if secret not in self.topics:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        both = ["publish", "subscribe"]
        right = {"topic": self.topics[secret], "channels": [".*"], "permissions": both}
        found = {"ttl": TTL_SECONDS, "identity": "tests", "authorizations": [right]}
        body = json.dumps(found).encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 as http.server names it
        """Say nothing: a request's line holds the secret."""


def main() -> int:
    """Run until the program ends."""
    config = json.loads((Path(sys.argv[1]) / "authority.json").read_text())
    Authority.topics = config["topics"]
    server = ThreadingHTTPServer(("127.0.0.1", config["port"]), Authority)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = subprocess.Popen(sys.argv[2:])
    signal.signal(signal.SIGTERM, lambda *_: program.terminate())
    return program.wait()


if __name__ == "__main__":
    sys.exit(main())
