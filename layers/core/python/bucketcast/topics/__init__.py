"""Topics of Ceph RGW's API; a notification names one instead of a target of the stack.

A topic belongs to a tenant and has an ARN, `arn:aws:sns:REGION:TENANT:NAME`. `model` is a topic,
`attributes` and `address` validate its settings, `endpoint` derives its target, `policy` and
`permissions` authorize users. `aws` stores topics and creates their resources, `api` is the SNS
API, `command` is `bucketcast topic`.

A persistent topic with an endpoint has a dynamic target of its own, created and removed with the
topic. Topics of a kind that are not persistent share a queue.
"""
