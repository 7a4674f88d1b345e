"""Topics on AWS.

`table` stores topics beside the dynamic targets, `topics` creates, changes and deletes them with
their resources, `queue_cache` finds their queues for ingest, `metrics` are Ceph's counters, and
`deploy` checks topics during a deploy.
"""
