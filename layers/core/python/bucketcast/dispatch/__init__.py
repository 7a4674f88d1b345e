"""Dispatch: deliver the messages of a target's queue to the target, and settle what failed.

==========================  ==================================================================
outcome of an event         what happens
==========================  ==================================================================
delivered                   deleted with its message
`Rejected`                  sent to the dead-letter queue with its reason, alone
`Retryable`, the first      requeued with its reason in a new message, which is visible after a
time, or part of a message  pause
`Retryable`, again          the message stays; it is visible again after a pause that doubles
`NotConnected`              the connection is dropped, the rest of the batch is not tried, and
                            the target's breaker opens (`bucketcast.dispatch.breaker`)
the breaker is open         one event is tried, now and then; all others are requeued as few
                            messages of many events with the reason, and no attempt is counted
the target is paused        nothing is tried; its events wait in the same way
`NotAuthorized`             the secret is fetched again and the batch is tried once more
a batch refused whole       halved until the refused events are alone
out of time                 left as it was, and no attempt is counted
after a lost connection     a message that was not opened yet stays, and is not opened
too large when unpacked     dead-lettered as it is: opening it could exhaust the memory
in its 14th day             dead-lettered without another try, with the last reason: SQS would
                            drop it
too old for a mirror        rejected: the mirror may have forgotten what came after it
==========================  ==================================================================

A message that SQS would soon move or drop is replaced by a new one before anything else is done,
so that this also works for a message that crashes the function (`delivery.retries`). A heartbeat
keeps all messages in flight; a killed function's are visible again within seconds.
"""

from bucketcast.dispatch.dispatcher import Dispatcher
from bucketcast.dispatch.messages import Dead, Message, QueueActions, Requeue
from bucketcast.dispatch.outcome import Outcome

__all__ = ["Dead", "Dispatcher", "Message", "Outcome", "QueueActions", "Requeue"]
