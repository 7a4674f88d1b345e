"""Ingest: from messages of the ingress queue to messages on the queues of the targets.

=============================  ===============================================================
outcome of a message           what happens
=============================  ===============================================================
its events are on all queues   nothing more: it is deleted
it cannot be read              buried in `ingress-dead` with its reason
one target's queue refuses     what that target was to get goes back to the ingress queue, addressed
                               to it alone: no neighbour gets anything again
the target is not deployed     its events go nowhere, as in MinIO
our own fault, or AWS' own     it stays, and is seen again after a pause that doubles
in its 14th day                buried in `ingress-dead` with the last reason
=============================  ===============================================================

Like dispatch, it sends a message again before SQS would move or drop it (`bucketcast.retries`).
"""

from bucketcast.ingest.intake import Incoming, Intake, Taken, Unsent, Way
from bucketcast.ingest.routing import Facts, NotToldError, Outbox, Routed, Rulebook, route

__all__ = [
    "Facts",
    "Incoming",
    "Intake",
    "NotToldError",
    "Outbox",
    "Routed",
    "Rulebook",
    "Taken",
    "Unsent",
    "Way",
    "route",
]
