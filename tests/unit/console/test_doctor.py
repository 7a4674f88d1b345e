"""What is wrong, and what to do."""

import re

from tests.unit.console.site import Site
from tests.unit.moto_aws import MotoAws


def test_doctor_says_what_is_wrong_and_what_to_do(site: Site, aws: MotoAws) -> None:
    for name in ("Bucketcast-ingress", "Bucketcast-ingress-dead"):
        aws.sqs.create_queue(QueueName=name)
    for name in ("webhook-primary", "postgres-main"):
        aws.answers[f"Bucketcast-{name}"] |= {"address": "a", "findings": []}
    aws.sqs.send_message(QueueUrl=aws.queue("Bucketcast-postgres-main-dead"), MessageBody="x")
    page = site.follow(site.get("/doctor")).text
    assert '<td data-label="check">queue</td>' in page
    assert '<a href="/targets/postgres:main">postgres:main</a>' in page
    assert re.search(r"send them again with `bucketcast dlq redrive`.*\n +bucketcast dlq ls", page)
