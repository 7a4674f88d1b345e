"""Dynamic targets: created by a call instead of a deploy.

Such a target has a queue and a dead-letter queue of its own, an event source mapping to the
function of its kind, its settings beside the rules and its secrets in Secrets Manager. Here is what
is known of them without AWS; `bucketcast.dynamic_targets.aws` makes and removes them.
"""
