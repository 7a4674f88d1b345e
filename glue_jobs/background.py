"""A thread that runs beside a block."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def running(name: str, work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Call `work` in a thread while the block runs; it returns when its event is set."""
    ended = threading.Event()
    thread = threading.Thread(target=work, args=(ended,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
