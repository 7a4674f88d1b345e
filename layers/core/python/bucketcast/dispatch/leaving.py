"""Where the events of a batch go that were not delivered."""

from collections.abc import Callable, Iterable, Sequence

from bucketcast.dispatch.breaker import Breaker, is_silence
from bucketcast.dispatch.history import dead_one, pause_of, told
from bucketcast.dispatch.messages import Batch, Open, Waiting, Way
from bucketcast.dispatch.outcome import FINAL, NotTried, Outcome
from bucketcast.dispatch.parts import Part, parts
from bucketcast.dispatch.portions import portions
from bucketcast.errors import DeliveryError
from bucketcast.retries import Term

_TOGETHER = 10
"""How many messages are sent at once: as many as one call of SQS takes."""
_SPARE = 1.0
"""Seconds of a function's time that are left for its answer."""
_FULL = 500
"""A message of so many events is not opened to be put together with others."""


class Leaving:
    """The ways of one target's events out of a batch."""

    def __init__(self, way: Way, breaker: Breaker, *, in_order: bool) -> None:
        self._way = way
        self._breaker = breaker
        self._in_order = in_order

    def settle(self, opened: Sequence[Open], batch: Batch) -> None:
        """See to what became of each event of a portion that was sent."""
        outcome = batch.outcome
        for one in opened:
            outcome.delivered += len(one.deliveries) - len(one.failures)
            outcome.fates.delivered += [
                delivery.event
                for place, delivery in enumerate(one.deliveries)
                if place not in one.failures
            ]
        failed = [one for one in opened if one.failures]
        if failed:
            self.bury(failed, outcome)
            self._keep([one for one in failed if one.failures], batch)

    def bury(self, failed: Sequence[Open], outcome: Outcome) -> None:
        """Bury what will not be tried again, and forget those failures that SQS took."""
        final = [
            (one, place)
            for one in failed
            for place, error in sorted(one.failures.items())
            if isinstance(error, FINAL) or (one.term.over and place in one.tried)
        ]
        dead = [dead_one(one, place) for one, place in final]
        refused = self._way.bury(dead) if dead else set()
        for index, (one, place) in enumerate(final):
            outcome.reason = one.failures[place]
            if index not in refused:
                reason = str(one.failures.pop(place))
                outcome.fates.dead.setdefault(reason, []).append(one.deliveries[place].event)
                outcome.dead += 1

    def hold(
        self, going: Iterable[Waiting], opened: Callable[[Waiting], Open | None], batch: Batch
    ) -> None:
        """Let messages wait that are not to be tried: as few messages as their events fit into."""
        trouble = self._breaker.trouble
        gone = NotTried(*(trouble.reason, trouble.error) if trouble else ("", ""))
        whole: list[Waiting] = []
        small: list[Waiting] = []
        for one in going:
            fits = one.envelope is not None and one.envelope.number < _FULL
            (small if fits and not self._in_order else whole).append(one)
        if len(small) == 1:
            whole += small
            small = []
        self.leave(whole, gone, opened, batch)
        for portion in portions(small, opened):
            for each in portion:
                each.failures = dict.fromkeys(range(len(each.deliveries)), gone)
            self._keep(portion, batch)
            portion.clear()  # before the next one is opened

    def leave(
        self,
        rest: Iterable[Waiting],
        gone: DeliveryError,
        opened: Callable[[Waiting], Open | None],
        batch: Batch,
    ) -> None:
        """Let messages that had no turn be seen again; what is no envelope is buried all the same.

        They are not opened: there may be many times more of them than of those that had a turn.
        """
        untold: list[tuple[Waiting, str]] = []
        for one in rest:
            message, envelope, term = one
            if envelope is None:
                opened(one)
                continue
            self._count(gone, envelope.number, batch.outcome)
            if isinstance(gone, NotTried) and not (envelope.reason or self._in_order):
                # In its last days nobody could say why it was never tried.
                untold.append((one, told(envelope, term, gone)))
            else:
                batch.stays(message, self._pause(term, gone, tried=False))
        for start in range(0, len(untold), _TOGETHER):
            some = untold[start : start + _TOGETHER]
            refused = set(range(len(some)))
            if batch.remaining() > _SPARE:
                refused = self._way.send_again([body for _, body in some], self._breaker.pause())
            for place in refused:
                one = some[place][0]
                batch.stays(one.message, self._pause(one.term, gone, tried=False))

    def _keep(self, failed: Sequence[Open], batch: Batch) -> None:
        """Let what failed be seen again: the message itself, or new ones with just those events."""
        for one in failed:
            for place, error in one.failures.items():
                self._count(error, 1, batch.outcome)
                if not isinstance(error, NotTried):
                    event = one.deliveries[place].event
                    batch.outcome.fates.retried.setdefault(str(error), []).append(event)
        going = [] if self._in_order else parts(failed, self._pause)
        back = {one.message.id for part in going for one in part.of}
        stay = [one for one in failed if one.message.id not in back]
        stay += self._refused(going, batch)
        for one in stay:
            waits = (
                self._pause(one.term, error, tried=place in one.tried)
                for place, error in one.failures.items()
            )
            batch.stays(one.message, max(waits))

    def _refused(self, going: Sequence[Part], batch: Batch) -> list[Open]:
        """Send parts, and give the messages of those that SQS did not take."""
        left: dict[str, Open] = {}
        for start in range(0, len(going), _TOGETHER):
            some = going[start : start + _TOGETHER]
            refused = set(range(len(some)))
            if batch.remaining() > _SPARE:
                refused = self._way.go_back([part.back for part in some])
            left |= {one.message.id: one for place in refused for one in some[place].of}
        return list(left.values())

    def _pause(self, term: Term, error: DeliveryError, *, tried: bool) -> int:
        """Seconds until a message is seen again."""
        silent = isinstance(error, NotTried) or is_silence(error)
        wait = self._breaker.pause() if silent else pause_of(term, error, tried=tried)
        return max(wait, term.spacing if self._in_order else 0)

    @staticmethod
    def _count(error: DeliveryError, number: int, outcome: Outcome) -> None:
        outcome.reason = error
        if isinstance(error, NotTried):
            outcome.waiting += number
        else:
            outcome.retried += number
