"""Attaching buckets on AWS.

`attachments` attaches a bucket for the command line, `deployed_bucket` for a deploy; both write
with `writer`, and store in `attachment_times` since when S3 applies it. `ingress` has the queue's
policy and EventBridge rules, `checks` checks buckets and rules, `propagation` retries while new
permissions take effect.
"""
