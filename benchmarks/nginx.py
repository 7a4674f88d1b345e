"""nginx as the fastest receiver there is: it reads each POST and answers 204."""

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from tests.servers.machine import ports

CONFIGURATION = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/log;
events {{ worker_connections 256; }}
http {{
  access_log off; keepalive_requests 100000000; client_max_body_size 2m;
  client_body_buffer_size 64k; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; location / {{ return 204; }} }}
}}
"""


@contextmanager
def receiver() -> Iterator[dict[str, str]]:
    """Yield the settings of a webhook target that posts to it."""
    with tempfile.TemporaryDirectory() as folder:
        port = ports(Path(folder), "http")["http"]
        file = Path(folder, "nginx.conf")
        file.write_text(CONFIGURATION.format(folder=folder, port=port))
        server = subprocess.Popen(["nginx", "-c", file, "-p", folder])
        try:
            _wait(f"http://127.0.0.1:{port}/")
            yield {"endpoint": f"http://127.0.0.1:{port}/"}
        finally:
            server.terminate()
            server.wait()


def _wait(url: str) -> None:
    for _ in range(100):
        try:
            with urlopen(url):  # noqa: S310 - our own
                return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(f"nginx does not answer at {url}")
