"""A bucket's notifications: S3's own document, and our rules for its events.

`document` adds our entry to S3's notification document of a bucket, `eventbridge` names the rules
of buckets that use EventBridge, `topic_configuration` is Ceph's notification of a topic. `aws`
attaches buckets and checks rules, `api` is `?notification` of the gateway, `command` has
`bucketcast bucket`, `event` and `notification`.
"""
