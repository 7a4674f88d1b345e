"""The listen calls: ListenBucketNotification and ListenNotification.

`request` reads one, `order` puts events into their order, `stream` writes them to a client as they
come from the listener's `queue`; `api` joins them. `buckets` tells of buckets made and removed.
"""
