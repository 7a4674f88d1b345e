"""MinIO's environment variables: `MINIO_NOTIFY_<KIND>_<KEY>[_<ID>]`."""

from collections.abc import Mapping

from bucketcast.errors import ConfigError, did_you_mean
from bucketcast.settings.options import Option


def prefix(kind: str) -> str:
    """Return the prefix of a kind's environment variables."""
    return f"MINIO_NOTIFY_{kind.upper()}_"


def overrides(
    kind: str, options: Mapping[str, Option], environ: Mapping[str, str]
) -> tuple[dict[str, dict[str, str]], list[ConfigError]]:
    """Return a kind's settings from the environment, by id and key, and their errors."""
    beginning = prefix(kind)
    settings: dict[str, dict[str, str]] = {}
    errors = []
    longest_first = sorted(options.values(), key=lambda option: len(option.variable), reverse=True)
    for name, value in environ.items():
        if not name.startswith(beginning):
            continue
        rest = name.removeprefix(beginning)
        for option in longest_first:
            if rest == option.variable or rest.startswith(option.variable + "_"):
                id_ = rest[len(option.variable) + 1 :] or "_"
                settings.setdefault(id_, {})[option.key] = value
                break
        else:
            names = [beginning + option.variable for option in options.values()]
            allowed = f"{did_you_mean(name, names)}allowed are {', '.join(names)}, each with _ID"
            errors.append(ConfigError(name, "unknown variable", allowed))
    return settings, errors
