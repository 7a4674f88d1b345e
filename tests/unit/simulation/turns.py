"""Calls side by side on one simulated clock: threads of which one runs at a time, in turn."""

from collections.abc import Callable
from threading import Lock, Thread


def _locked() -> Lock:
    lock = Lock()
    lock.acquire()
    return lock


class Parked:
    """A thread that waits until it is resumed, or ended."""

    def __init__(self) -> None:
        self.is_over = False
        self._lock = _locked()

    def resume(self) -> None:
        self._lock.release()

    def wait(self) -> None:
        self._lock.acquire()
        if self.is_over:
            raise _EndError


class _EndError(BaseException):
    """Nobody needs the thread any more."""


class Steps:
    """Steps one after the other, and calls in them that wait while another thread goes on.

    `step` does the next one, and tells whether there was one. Most calls end within their step: to
    wake a thread takes long on a busy machine, so only a call that waits is a reason to.
    """

    def __init__(self, step: Callable[[], bool]) -> None:
        self._step = step
        self._idle: list[Parked] = []
        self._over = _locked()
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do all steps there are, or raise what one of them raises."""
        self._go_on()
        self._over.acquire()
        for each in self._idle:
            each.is_over = True
            each.resume()
        self._idle.clear()
        if self._error:
            raise self._error

    def wait(self, call: Parked) -> None:
        """Let the others go on, from within a call, until a step resumes it."""
        self._go_on()
        call.wait()

    def resume(self, call: Parked) -> None:
        """Let a call go on, as a step; what comes after it may be the call's thread to do."""
        own = Parked()
        self._idle.append(own)
        call.resume()
        own.wait()

    def _go_on(self) -> None:
        if self._idle:
            self._idle.pop().resume()
        else:
            Thread(target=self._do_steps, daemon=True).start()

    def _do_steps(self) -> None:
        try:
            while self._step():
                pass
        except _EndError:
            return
        except BaseException as error:  # noqa: BLE001 - it is the test's
            self._error = error
        self._over.release()


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

    def _run(self) -> None:
        while True:
            self._go.acquire()
            assert self._work
            self._work()
            self.is_over = True
            self._back.release()
