"""Ingest: from the ingress queue to the queues of the destinations that the rules name.

=============================  ===============================================================
outcome of an event            what happens
=============================  ===============================================================
it is on all queues            it is deleted with its message
its message is unreadable      that is dead-lettered to `ingress-dead` with the reason
one queue refuses it           it goes back to the ingress queue, addressed to that destination
                               alone: no other gets it again
the target is not deployed     it is dropped, as in MinIO
a fault of ours or of AWS      it goes back to the ingress queue, and is tried after a pause
=============================  ===============================================================

The engine does the rest (`delivery.engine`).
"""
