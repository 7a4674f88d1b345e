"""Secrets that settings refer to. Their values are not read here: the function does."""

from collections.abc import Mapping
from typing import Any

from bucketcast.doctor import Finding

CHECK = "secret"


def secret(subject: str, name: str, found: Mapping[str, Any] | None) -> Finding:
    """Check a secret by its description, None if there is none of this name."""
    if found is None:
        return Finding(
            CHECK,
            subject,
            "error",
            f"the secret '{name}' does not exist",
            "create it from a file that holds its value; events then go at once",
            f"aws secretsmanager create-secret --name {name} --secret-string file://SECRET",
        )
    if found.get("DeletedDate"):
        return Finding(
            CHECK,
            subject,
            "error",
            f"the secret '{name}' is deleted, and can be restored until its recovery window ends",
            "restore it",
            f"aws secretsmanager restore-secret --secret-id {name}",
        )
    return Finding(CHECK, subject, "ok", name)
