"""Dispatch: from messages of a target's queue to the target, and what becomes of what failed.

==========================  ==================================================================
outcome of an event         what happens
==========================  ==================================================================
delivered                   nothing more: it goes with its message
`Rejected`                  buried in the dead-letter queue with its reason, alone
`Retryable`, the first      it goes back as a new message that has the reason with it, seen after
time, or part of a message  a pause
`Retryable`, again          the message stays; it is seen again after a pause that doubles
`NotConnected`              the connection is dropped, the rest of the batch is not tried, and
                            the target's breaker opens (`bucketcast.dispatch.breaker`)
the breaker is open         one event is tried, now and then; all others go back as few messages
                            of many events, which say why, and no try is counted
`NotAuthorized`             the secret is fetched again and the batch is tried once more
a batch refused whole       halved until the events that are refused stand alone
no turn: time was up        as it was, and no try is counted
behind a target gone        a message that was not opened yet stays, and is not opened
unpacks to too much         buried as it is: to open it could end the function
in its 14th day             buried without another try, with the last reason: SQS would drop it
too old for a mirror        rejected: the mirror may have forgotten what came after it
==========================  ==================================================================

A message that SQS would soon move or drop by itself is sent again as a new one, before anything
else is done, so that also a function that crashes gets so far (`bucketcast.retries`). All are kept
in flight while the function works on them, and for seconds after it was killed.
"""

from bucketcast.dispatch.dispatcher import Dispatcher
from bucketcast.dispatch.messages import Back, Dead, Message, Way
from bucketcast.dispatch.outcome import Outcome

__all__ = ["Back", "Dead", "Dispatcher", "Message", "Outcome", "Way"]
