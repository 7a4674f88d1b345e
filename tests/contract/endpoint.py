"""A server that answers anything, for what a client makes of answers that no real server gives."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HOST = "127.0.0.2"
"""An address that no certificate of the test servers is for."""


@contextmanager
def endpoint(
    *answers: bytes, context: ssl.SSLContext | None = None, stays: bool = False
) -> Iterator[tuple[str, list[bytes]]]:
    """Answer one after the other what comes by each connection; yield `host:port` and what came.

    The connection is closed after that, or if it `stays`, read until the client closes it.
    """
    received: list[bytes] = []
    open_: list[socket.socket] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                peer = listener.accept()[0]
                if context:
                    peer = context.wrap_socket(
                        peer, server_side=True, do_handshake_on_connect=False
                    )
                open_.append(peer)
                with peer, suppress(OSError):  # the client may refuse the certificate
                    for answer in answers:
                        received.append(peer.recv(65_536))
                        peer.sendall(answer)
                    while stays and (data := peer.recv(65_536)):
                        received.append(data)

    with socket.create_server((HOST, 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"{HOST}:{listener.getsockname()[1]}", received
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for peer in open_:
                with suppress(OSError):  # closed already
                    peer.shutdown(socket.SHUT_RDWR)
            thread.join()
