"""The configuration: `bucketcast.toml`, overridden by MinIO's own environment variables.

`load` reads and checks it (`reader`, with `tables` for tables of options, `target_reader` for
targets, and `variables` for the environment) into a `model.Deployment`, which assembles the tables.
`stack`, `bucket`, `target`, `function`, `gateway`, `ingest`, `source`, `trail`, `topics`, `alarms`,
and `pipeline` declare them; `encryption` and `deployable` find what a deploy to AWS would
refuse. `command` is `bucketcast config`.

Tables are `[bucket.NAME]`, `[trail]`, `[source]`, `[ingest]`, `[alarms]`,
`[dynamic_targets]`, `[topics]`, `[pipeline]` and `[scan.BUCKET]`
for Spark jobs, `[notify_<kind>.<id>]` with MinIO's keys, and `[….deploy]` for what the function
needs.
Variables are `MINIO_NOTIFY_<KIND>_<KEY>[_<ID>]` and `MINIO_API_SYNC_EVENTS`. A target that only the
environment knows needs `MINIO_NOTIFY_<KIND>_ENABLE[_<ID>]=on`, as in MinIO. An empty variable
counts as unset.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bucketcast.config.model import Deployment
from bucketcast.config.reader import Reader


def load(
    source: Path | Mapping[str, Any], environ: Mapping[str, str], *, local: bool, stack: str = ""
) -> Deployment:
    """Read and check a configuration, a file or its tables; plain secrets only where `local`.

    With the name of a `stack` also check what its deploy would refuse.

    Raises:
        ConfigErrors: all errors of file and environment.
    """
    return Reader(source, environ, local=local).deployment(stack)
