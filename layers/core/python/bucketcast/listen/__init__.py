"""The listen calls: ListenBucketNotification and ListenNotification.

`request` parses a call, `listener` models the listener that serves it, and `stream` writes the
events of the listener's `queue` to the client; `api` joins them. `bucket_events` adds events of
created and removed buckets. `aws` stores listeners and caches them for ingest; `command` is
`bucketcast listen`.
"""
