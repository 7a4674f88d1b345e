"""Ingest: route the messages of the ingress queue to the queues of the targets.

=============================  ===============================================================
outcome of a message           what happens
=============================  ===============================================================
its events are on all queues   it is deleted
it cannot be read              dead-lettered to `ingress-dead` with the reason
one target's queue refuses     that target's events go back to the ingress queue, addressed to it
                               alone: no other target gets them again
the target is not deployed     its events are dropped, as in MinIO
a fault of ours or of AWS      it stays, and is visible again after a pause that doubles
in its 14th day                dead-lettered to `ingress-dead` with the last reason
=============================  ===============================================================

Like dispatch, it renews a message before SQS would move or drop it (`delivery.retries`).
"""

from bucketcast.ingest.ingester import Incoming, Ingester, IngestResult, Publisher, Unsent
from bucketcast.ingest.routing import EnrichmentError, Facts, Routed, RuleLookup, TargetBatch, route

__all__ = [
    "EnrichmentError",
    "Facts",
    "Incoming",
    "IngestResult",
    "Ingester",
    "Publisher",
    "Routed",
    "RuleLookup",
    "TargetBatch",
    "Unsent",
    "route",
]
