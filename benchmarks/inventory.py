"""S3 Inventory reports of any size for the scanner's benchmark, in Parquet with all versions.

Both shapes have about two versions of a key and a hundred rows in a folder, three
folders deep. The skewed one also has, of each hundred rows: one in a few hot keys, two that are
each in a sub-folder of their own of a single prefix, and one that lies forty levels deep.
"""

import hashlib
import json
from pathlib import Path
from typing import Final, Literal

from pyspark.sql import SparkSession

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
    "concat('data/team-', key div 200000, '/run-', (key div 50) % 4000, '/part-', key, '.csv')"
)
_KEYS: Final = {
    "even": _EVEN,
    "skewed": f"""case
        when lot = 0 then concat('data/hot/key-', pmod(mark, 1 + {{rows}} div 1000000))
        when lot in (1, 2) then concat('data/wide/child-', row, '/object')
        when lot = 3 then concat(repeat('level/', 40), row % 5000)
        else {_EVEN} end""",
}
_ROWS: Final = """
    select '{bucket}' as bucket, {key} as key,
        md5(string(row * 3)) as version_id,
        mark % 2 = 0 as is_latest, mark % 100 = 0 as is_delete_marker,
        if(mark % 100 = 0, 0, mark % 10000000) as size,
        timestamp_seconds(1577836800 + mark % 150000000) as last_modified_date,
        md5(string(row * 3 + 1)) as e_tag,
        if(mark % 5 = 0, 'GLACIER', 'STANDARD') as storage_class
    from (
        select id as row, pmod(xxhash64(id, 7), 100) as lot,
            pmod(xxhash64(id, 13), 1000000000) as mark, pmod(xxhash64(id, 29), {keys}) as key
        from range(0, {rows}, 1, {files})
    )
"""


def write(folder: Path, rows: int, shape: Shape) -> None:
    """Write a report of so many rows below a folder."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    data = folder / BUCKET / "all" / "data"
    key = _KEYS[shape].format(rows=rows)
    count = -(-rows // _A_FILE)
    question = _ROWS.format(bucket=BUCKET, key=key, rows=rows, keys=max(1, rows // 2), files=count)
    spark.sql(question).write.parquet(data.as_uri())
    spark.stop()
    path = manifest(folder)
    path.parent.mkdir()
    content = json.dumps(_manifest(folder, sorted(data.glob("*.parquet")))).encode()
    path.with_name("manifest.checksum").write_text(
        hashlib.md5(content, usedforsecurity=False).hexdigest()
    )
    path.write_bytes(content)


def manifest(folder: Path) -> Path:
    """Return where a folder's report has its manifest."""
    return folder / BUCKET / "all" / "2026-01-02T01-00Z" / "manifest.json"


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
