"""The buckets with notifications of each topic, from their rules."""

from collections.abc import Mapping

from bucketcast.aws.clients import Aws
from bucketcast.aws.rules import Rules
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import TopicArn


def buckets_by_topic(table: str, aws: Aws) -> Mapping[tuple[str, str], list[str]]:
    """Return the buckets' names by tenant and name of a topic; each bucket's rules are read."""
    pages = aws.s3.get_paginator("list_buckets").paginate()
    names = [each["Name"] for page in pages for each in page["Buckets"]]
    rules = Rules(table, aws.dynamodb)
    found: dict[tuple[str, str], list[str]] = {}
    for bucket in sorted(rules.versions(names)):
        for arn in {rule.arn for rule in rules.in_order(bucket)}:
            try:
                named = TopicArn.parse(arn)
            except TopicError:
                continue
            found.setdefault((named.tenant, named.name), []).append(bucket)
    return found
