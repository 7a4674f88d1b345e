"""Names of buckets that AWS's services and tools take for their own.

They are predictable, and what is in such a bucket is trusted: a script of a Glue job, a template, a
package to deploy. Who creates one first, in a region that the account does not use yet, supplies
that content and reads what is put there.
"""

from typing import Final

_S3: Final = ("amzn-s3-demo-", "sthree-", "xn--")
"""Reserved by S3: AmazonS3/latest/userguide/bucketnamingrules.html on docs.aws.amazon.com."""
_SERVICES: Final = (
    # Athena (aws-athena-query-results-), CloudTrail (aws-cloudtrail-logs-), EMR (aws-logs-), SAM
    # (aws-sam-cli-managed-default-), Security Lake and WAF, by their user guides; CodeStar
    # (aws-codestar-), EMR Studio (aws-emr-studio-) and Glue (aws-glue-assets-) by "Bucket Monopoly:
    # Breaching AWS Accounts Through Shadow Resources", Aqua Security, 2024.
    "aws-",
    # Braket, Connect, DataZone, SageMaker Unified Studio: their user guides.
    "amazon-",
    # Amplify's deployments: docs.amplify.aws.
    "amplify-",
    # WorkSpaces Applications: its administration guide, "Amazon S3 bucket storage".
    "appstream-app-settings-",
    "appstream-logs-",
    "appstream2-",
    # AWS Config's conformance packs: its developer guide demands this prefix.
    "awsconfigconforms",
    # Bedrock AgentCore's toolkit: bedrock-agentcore-codebuild-sources-ACCOUNT-REGION.
    "bedrock-agentcore-",
    # The CDK's bootstrap: docs.aws.amazon.com/cdk/v2/guide/bootstrapping.html; "AWS CDK Risk:
    # Exploiting a Missing S3 Bucket Allowed Account Takeover", Aqua Security, 2024.
    "cdk-",
    # CloudFormation's console, and Service Catalog: "Bucket Monopoly".
    "cf-templates-",
    # CodeGuru Reviewer demands this prefix: its user guide.
    "codeguru-reviewer-",
    # CodePipeline's console: its user guide, "Input and output artifacts".
    "codepipeline-",
    # AWS Config's console: its developer guide.
    "config-bucket-",
    # Rekognition Custom Labels' console: its developer guide.
    "custom-labels-console-",
    # Systems Manager's diagnosis (do-not-delete-ssm-): its user guide, "AWS managed policies".
    "do-not-delete-",
    # Elastic Beanstalk: its developer guide; CreateStorageLocation.
    "elasticbeanstalk-",
    # SageMaker: its developer guide; "Bucket Monopoly".
    "sagemaker-",
)


def is_of_service(bucket: str) -> bool:
    """Return True if AWS's services may use a bucket of this name."""
    return bucket.lower().startswith((*_S3, *_SERVICES))
