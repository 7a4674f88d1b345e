"""The CDK construct of Bucketcast, for one's own app; `app.py` deploys it alone."""

from bucketcast_cdk.construct import Bucketcast

__all__ = ["Bucketcast"]
