"""nginx in front of a test, or as the fastest receiver there is."""

from pathlib import Path
from socket import create_connection

from tests.servers.machine import find_program, ports
from tests.servers.process import Process

_CONFIGURATION = """\
{modules}
daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid; error_log stderr;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_max_body_size 2m; client_body_buffer_size 64k;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  limit_conn_zone $server_port zone=all:1m; limit_conn_status 429; limit_conn_log_level info;
{servers}
}}
"""


def run(folder: Path, servers: str, *, modules: str = "") -> tuple[Process, int]:
    """Start it with these `server` blocks, and return it with the port that replaces PORT.

    The zone `all` of `limit_conn` counts the requests that it works at, of which further ones are
    answered 429.
    """
    port = ports(folder, "nginx")["nginx"]
    file = folder / "nginx.conf"
    servers = servers.replace("PORT", str(port))
    file.write_text(_CONFIGURATION.format(folder=folder, servers=servers, modules=modules))
    process = Process(
        [find_program("nginx"), "-c", str(file), "-p", str(folder)],
        folder,
        ready=lambda: create_connection(("127.0.0.1", port), timeout=2).close(),
        not_ready_yet=(OSError,),
    )
    process.start()
    return process, port
