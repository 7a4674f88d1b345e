"""A generated Inventory report of all versions: `python -m benchmarks.scanner.report FILE ROWS`.

It has about two versions of a key and a hundred rows in a folder, three folders deep. Of each
hundred rows one is in a few hot keys, two are each in a sub-folder of their own of a single prefix,
and one lies forty levels deep.
"""

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from benchmarks.scanner.spark import BUCKET, session

_ROWS_A_FILE: Final = 2_500_000
_SCHEMA: Final = (
    "message s3.inventory { required binary bucket (UTF8); required binary key (UTF8); "
    "optional binary version_id (UTF8); optional boolean is_latest; "
    "optional boolean is_delete_marker; optional int64 size; "
    "optional int64 last_modified_date (TIMESTAMP(MILLIS,true)); optional binary e_tag (UTF8); "
    "optional binary storage_class (UTF8); }"
)
_ROWS: Final = """
    select '{bucket}' as bucket,
        case
            when lot = 0 then concat('data/hot/key-', pmod(mark, 1 + {rows} div 1000000))
            when lot in (1, 2) then concat('data/wide/child-', row, '/object')
            when lot = 3 then concat(repeat('level/', 40), row % 5000)
            else concat(
                'data/team-', key div 200000, '/run-', (key div 50) % 4000, '/part-', key, '.csv'
            )
        end as key,
        md5(string(row * 3)) as version_id, mark % 2 = 0 as is_latest,
        mark % 100 = 0 as is_delete_marker, if(mark % 100 = 0, 0, mark % 10000000) as size,
        timestamp_seconds(1577836800 + mark % 150000000) as last_modified_date,
        md5(string(row * 3 + 1)) as e_tag, if(mark % 5 = 0, 'GLACIER', 'STANDARD') as storage_class
    from (
        select id as row, pmod(xxhash64(id, 7), 100) as lot,
            pmod(xxhash64(id, 13), 1000000000) as mark, pmod(xxhash64(id, 29), {keys}) as key
        from range(0, {rows}, 1, {files})
    )
"""


def write(spark: SparkSession, manifest: Path, rows: int, prefix: str = "") -> None:
    """Write a report of so many rows: its data files, its manifest and the checksum of that.

    Of the rows it lists those whose keys begin with the prefix.
    """
    data = manifest.parents[1] / "data"
    files = -(-rows // _ROWS_A_FILE)
    query = _ROWS.format(bucket=BUCKET, rows=rows, keys=rows // 2, files=files)
    listed = spark.sql(query)
    listed.where(listed.key.startswith(prefix)).write.parquet(data.as_uri())
    document = {
        "sourceBucket": BUCKET,
        "version": "2016-11-30",
        "creationTimestamp": str(time.time_ns() // 1_000_000),
        "fileFormat": "Parquet",
        "fileSchema": _SCHEMA,
        "files": [
            {
                "key": path.relative_to("/").as_posix(),
                "size": path.stat().st_size,
                "MD5checksum": _md5(path),
            }
            for path in sorted(data.glob("*.parquet"))
        ],
    }
    manifest.parent.mkdir()
    manifest.write_text(json.dumps(document))
    manifest.with_name("manifest.checksum").write_text(_md5(manifest))


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


if __name__ == "__main__":
    with session() as started:
        write(started, Path(sys.argv[1]), int(sys.argv[2]))
