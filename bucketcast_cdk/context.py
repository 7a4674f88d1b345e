"""What every construct of the stack is made with."""

from dataclasses import dataclass

from aws_cdk import RemovalPolicy

from bucketcast.config import Deployment
from bucketcast_cdk.assets import Assets


@dataclass(frozen=True, slots=True)
class Context:
    """The configuration and the code; `local` is for the local AWS."""

    config: Deployment
    assets: Assets
    local: bool

    @property
    def removal_policy(self) -> RemovalPolicy:
        """Return what happens to resources with data when their stack is deleted.

        They outlive it, but not the rollback of a first deploy that fails: the next one would find
        the names taken, and what has no name of ours would stay for ever.
        """
        return RemovalPolicy.DESTROY if self.local else RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
