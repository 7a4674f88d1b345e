"""nginx as the fastest receiver there is: it reads each POST and answers 204."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers import nginx

_SERVER = """
log_format status '$status';
server {
  listen 127.0.0.1:PORT backlog=4096; keepalive_requests 100000000;
  location / { return 204; }
  LOCATIONS
}
"""


@contextmanager
def receiver(locations: str = "", *, modules: str = "") -> Iterator[dict[str, str]]:
    """Yield the settings of a webhook target that posts to it; `locations` are further paths."""
    with tempfile.TemporaryDirectory() as folder:
        servers = _SERVER.replace("LOCATIONS", locations)
        process, port = nginx.run(Path(folder), servers, modules=modules)
        try:
            yield {"endpoint": f"http://127.0.0.1:{port}/"}
        finally:
            process.stop()
