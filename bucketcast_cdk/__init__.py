"""The CDK construct of Bucketcast, for one's own app; `app.py` deploys it alone.

It is imported when it is first asked for: bundles are built without the CDK, which takes seconds to
start.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bucketcast_cdk.construct import Bucketcast

__all__ = ["Bucketcast"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    from bucketcast_cdk import construct  # noqa: PLC0415 - see above

    return construct.Bucketcast
