"""Topics, as Ceph RGW has them: what a notification names in place of a target of the stack.

A topic belongs to a tenant and has an ARN, `arn:aws:sns:REGION:TENANT:NAME`. Here is what is known
of one without AWS: `model` what it is, `attributes` what may be given, `endpoint` the target that
it becomes, `policy` who may do what. `bucketcast.aws.topics` keeps them.

From the ARN in a notification to a queue::

    topic = items.topic(arn)              # store.topics.items.Items; None: deleted, goes nowhere
    topic.target_arn                      # "" where it is pull only, or not persistent
    book.queue(topic.target_arn)          # store.runtime.book.TargetBook: the queue of its own

A persistent topic with an endpoint is a run-time target of the kind `topic.kind` and the id
`topic.id`, made and removed with the topic. One that is not persistent has no queue of its own:
`endpoint.target(topic, store.secrets.resolve(topic.references))` gives the kind and the settings to
send it with, and the function of that kind may read its secret and the item of the topic. A change
of a topic raises the number that `store.runtime.table.Table.version` reads, as a change of a
run-time target does. `topic.persistent`, `topic.time_to_live`, `topic.max_retries` and
`topic.retry_sleep_duration` are as they are now: read them when they are needed.
"""
