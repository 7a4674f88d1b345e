"""Calls side by side on one simulated clock: threads of which one runs at a time, in turn."""

from collections.abc import Callable
from threading import Lock, Thread


class Turn:
    """A thread that runs one piece of work after the other, until the work waits or ends.

    Whoever resumes it waits meanwhile, so nothing ever runs beside it.
    """

    def __init__(self) -> None:
        self._go, self._back = Lock(), Lock()
        self._go.acquire()
        self._back.acquire()
        self._work: Callable[[], None] | None = None
        self.is_over = True
        Thread(target=self._run, daemon=True).start()

    def start(self, work: Callable[[], None]) -> None:
        self._work, self.is_over = work, False
        self.resume()

    def resume(self) -> None:
        """Let it run until it waits or is over."""
        self._go.release()
        self._back.acquire()

    def wait(self) -> None:
        """Hand the turn back, from within the work; return when it is resumed."""
        self._back.release()
        self._go.acquire()

    def end(self) -> None:
        """End the thread of a work that is over."""
        self._work = None
        self._go.release()

    def _run(self) -> None:
        while True:
            self._go.acquire()
            if self._work is None:
                return
            self._work()
            self.is_over = True
            self._back.release()
