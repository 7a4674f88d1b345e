"""S3 Inventory reports of any size for the benchmarks, in Parquet with all versions.

Both shapes have about two versions of a key and a hundred rows in a folder, three
folders deep. The skewed one also has, of each hundred rows: one in a few hot keys, two that are
each in a sub-folder of their own of a single prefix, and one that lies forty levels deep.
"""

import hashlib
import json
from pathlib import Path
from typing import Final, Literal

import duckdb

BUCKET: Final = "uploads"
Shape = Literal["even", "skewed"]
_A_FILE: Final = 2_500_000
_SCHEMA: Final = (
    "message s3.inventory { required binary bucket (UTF8); required binary key (UTF8); "
    "optional binary version_id (UTF8); optional boolean is_latest; "
    "optional boolean is_delete_marker; optional int64 size; "
    "optional int64 last_modified_date (TIMESTAMP(MILLIS,true)); optional binary e_tag (UTF8); "
    "optional binary storage_class (UTF8); }"
)
_EVEN: Final = (
    "'data/team-' || (id // 200000) || '/run-' || ((id // 50) % 4000) || '/part-' || id || '.csv'"
)
_KEYS: Final = {
    "even": _EVEN,
    "skewed": f"""case
        when lot = 0 then 'data/hot/key-' || (hash(row) % (1 + {{rows}} // 1000000))
        when lot in (1, 2) then 'data/wide/child-' || row || '/object'
        when lot = 3 then repeat('level/', 40) || (row % 5000)
        else {_EVEN} end""",
}
_FILE: Final = """
copy (
    select '{bucket}' as bucket, {key} as key,
        md5((row * 3)::varchar) as version_id,
        mark % 2 = 0 as is_latest, mark % 100 = 0 as is_delete_marker,
        (case when mark % 100 = 0 then 0 else mark % 10000000 end)::bigint as size,
        (timestamp '2020-01-01' + to_seconds((mark % 150000000)::bigint))::timestamp_ms
            as last_modified_date,
        md5((row * 3 + 1)::varchar) as e_tag,
        case when mark % 5 = 0 then 'GLACIER' else 'STANDARD' end as storage_class
    from (
        select range as row, hash(range + 7) % 100 as lot, hash(range + 13) as mark,
            (hash(range + 29) % {ids})::bigint as id
        from range({first}, {last})
    )
) to '{path}' (format parquet, compression snappy, row_group_size 250000)
"""


def write(folder: Path, rows: int, shape: Shape) -> Path:
    """Write a report of so many rows below a folder, file by file; returns its manifest.json.

    One that is there already is kept.
    """
    manifest = folder / BUCKET / "all" / "2026-01-02T01-00Z" / "manifest.json"
    if manifest.exists():
        return manifest
    data = folder / BUCKET / "all" / "data"
    data.mkdir(parents=True, exist_ok=True)
    files = []
    with duckdb.connect(config={"threads": 2, "memory_limit": "2GB"}) as made:
        for first in range(0, rows, _A_FILE):
            path = data / f"{first // _A_FILE:05d}.parquet"
            last = min(rows, first + _A_FILE)
            key = _KEYS[shape].format(rows=rows)
            ids = max(1, rows // 2)
            made.execute(
                _FILE.format(bucket=BUCKET, key=key, ids=ids, first=first, last=last, path=path)
            )
            files.append(path)
    manifest.parent.mkdir(exist_ok=True)
    content = json.dumps(_manifest(folder, files)).encode()
    manifest.write_bytes(content)
    manifest.with_name("manifest.checksum").write_text(
        hashlib.md5(content, usedforsecurity=False).hexdigest()
    )
    return manifest


def _manifest(folder: Path, files: list[Path]) -> dict[str, object]:
    return {
        "sourceBucket": BUCKET,
        "destinationBucket": "arn:aws:s3:::inventories",
        "version": "2016-11-30",
        "creationTimestamp": "1767315600000",
        "fileFormat": "Parquet",
        "fileSchema": _SCHEMA,
        "files": [
            {
                "key": path.relative_to(folder).as_posix(),
                "size": path.stat().st_size,
                "MD5checksum": _md5(path),
            }
            for path in files
        ],
    }


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()
