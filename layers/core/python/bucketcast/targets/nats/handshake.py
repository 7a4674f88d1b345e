"""How TLS begins at a NATS server: after it has introduced itself."""

import socket

_LONGEST = 65_536


def upgrade(line: socket.socket) -> None:
    """Take the server's INFO.

    Raises:
        OSError: it is no NATS server, or offers no TLS.
    """
    said = b""
    while not said.endswith(b"\r\n"):
        if len(said) > _LONGEST or not (part := line.recv(1)):
            raise OSError("the server hung up, or is no NATS server")
        said += part
    if not said.startswith(b"INFO "):
        raise OSError("is this a NATS server?")
    if b'"tls_required":true' not in said and b'"tls_available":true' not in said:
        raise OSError("the server offers no TLS")
