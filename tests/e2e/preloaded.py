"""What commands import and read first, for the process that `commands` forks them from."""

import functools
from importlib import import_module

import boto3
import botocore.session
from botocore.loaders import create_loader

from bucketcast import cli

SERVICES = ("cloudformation", "cloudwatch", "dynamodb", "lambda", "logs", "s3", "sqs")

for group in cli.GROUPS.values():
    for module, _ in group.values():
        import_module(f"bucketcast.{module}")

# Commands go on with what has been read here; a session of theirs knows nothing of this one.
botocore.session.create_loader = functools.cache(create_loader)
session = boto3.Session("test", "test", region_name="us-east-1")
for service in SERVICES:
    session.client(service)  # type: ignore[call-overload]
