"""How TLS begins at a MySQL server: its greeting, and the client's wish to encrypt."""

import socket
import struct

from bucketcast.targets.base.endpoint import receive_exactly

_HEADER = 4
_SSL, _PROTOCOL_41, _SECURE_CONNECTION = 0x0800, 0x0200, 0x8000
_UTF8MB4 = 45
_ERROR = b"\xff"


def upgrade(line: socket.socket) -> None:
    """Take the greeting, and ask for TLS.

    Raises:
        OSError: it is no MySQL, or offers no TLS.
    """
    size = int.from_bytes(receive_exactly(line, _HEADER)[:3], "little")
    greeting = receive_exactly(line, size)
    if greeting.startswith(_ERROR):
        raise OSError(greeting[3:].decode(errors="replace"))
    # After the version's name: the connection's number, 8 bytes of the salt and a zero.
    at = greeting.find(b"\0", 1) + 1 + 4 + 8 + 1
    (abilities,) = struct.unpack_from("<H", greeting, at) if len(greeting) >= at + 2 else (0,)
    if not abilities & _SSL:
        raise OSError("the server offers no TLS")
    wanted = _SSL | _PROTOCOL_41 | _SECURE_CONNECTION
    body = struct.pack("<IIB23x", wanted, 1 << 24, _UTF8MB4)
    line.sendall(len(body).to_bytes(3, "little") + b"\x01" + body)
