"""Topics, as Ceph RGW has them: what a notification names instead of a target of the stack.

A topic belongs to a tenant and has an ARN, `arn:aws:sns:REGION:TENANT:NAME`. This package knows no
AWS: `model` is a topic, `attributes` validates what users set, `endpoint` derives the target, and
`policy` and `permissions` decide who may do what. `bucketcast.topics.aws` stores topics.

From the ARN in a notification to a queue::

    topic = topic_table.topic(arn)     # None: it was deleted, and its events are dropped
    topic.target_arn                   # "" if it is not pushed, or not persistent
    table.target(topic.target_arn)     # the dynamic target, with its queue

A persistent topic with an endpoint has a dynamic target of the kind `topic.kind` and the id
`topic.id`, created and removed with the topic. One that is not persistent shares a queue with the
others of its kind; `endpoint.target` returns the kind and the settings to send its events with. A
change of a topic increments the number that `Table.version` reads, as a change of a dynamic target
does.
"""
