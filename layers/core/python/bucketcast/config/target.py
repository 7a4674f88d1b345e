"""A configured target, and what its settings say of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bucketcast import targets
from bucketcast.config.function import Deploy
from bucketcast.destination import TargetArn
from bucketcast.settings.options import options_of
from bucketcast.settings.types import REFERENCE
from bucketcast.targets.base.options import Common, Shaped

NOT_FOR_THE_FUNCTION = options_of(Common).keys() - options_of(Shaped).keys()
"""Options that only the deploy reads."""


@dataclass(frozen=True, slots=True)
class TargetConfig:
    """One configured target; `settings` holds references in place of secrets.

    A target that is not `enabled` is deployed, but its events wait. `facts` are the
    object facts in its records.
    """

    kind: str
    id: str
    settings: Mapping[str, str]
    deploy: Deploy
    plain_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    enabled: bool = True
    facts: tuple[str, ...] = ()

    @property
    def arn(self) -> TargetArn:
        return TargetArn(id=self.id, type=targets.load(self.kind).arn_type)

    @property
    def is_mirror(self) -> bool:
        """True if it mirrors its buckets."""
        return is_mirror(self.kind, self.settings)

    @property
    def secret_names(self) -> frozenset[str]:
        """The secrets that its function must be allowed to read, without fields inside them."""
        return frozenset(
            setting.removeprefix(REFERENCE).partition("#")[0]
            for setting in self.settings.values()
            if setting.startswith(REFERENCE)
        )


def is_mirror(kind: str, settings: Mapping[str, str]) -> bool:
    """Return True if a target with these settings mirrors its buckets."""
    declared: Any = targets.load(kind).Settings
    form = options_of(declared).get("format")
    value = settings.get("format", "")
    return form is not None and form.parse(value or form.default) == "namespace"
