"""Topics on AWS.

`table` stores topics beside the dynamic targets, `topics` creates, changes and deletes them with
their resources, `destination_cache` finds them for ingest, `metrics` are Ceph's counters, and
`deploy` checks topics during a deploy.
"""
