"""The listen calls: ListenBucketNotification and ListenNotification.

`request` parses one, `stream` writes events to a client as they arrive on the listener's `queue`;
`api` joins them. `bucket_events` adds events of created and removed buckets.
"""
