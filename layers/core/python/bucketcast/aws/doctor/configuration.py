"""Reads what is deployed, to compare it with the configuration file."""

from collections.abc import Iterator

from bucketcast.aws import deployed
from bucketcast.aws.clients import Aws
from bucketcast.aws.deployed import Deployed
from bucketcast.config import Deployment
from bucketcast.doctor import Finding, configuration


def findings(config: Deployment, deployment: Deployed, aws: Aws) -> Iterator[Finding]:
    """Compare the file with the deployed targets and buckets; run-time targets are in no file."""
    own = [target for target in deployment.targets if not target.made]
    settings = {target.arn: deployed.settings(target, aws) for target in own}
    off = [target.arn for target in own if not target.enabled]
    yield from configuration.findings(config, settings, off, deployment.buckets)
