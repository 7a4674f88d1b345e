# /// script
# requires-python = ">=3.11"
# dependencies = ["duckdb>=1.4,<2"]
# ///
"""A scan by DuckDB, as its user would write it: `uv run --script duckdb_scan.py DATA FOLDER`."""

import sys
from pathlib import Path

import duckdb

_FINDINGS = """
    with versions as (
        select key, count(*) as versions, sum(size)::bigint as bytes from listing group by key
        having count(*) > 1000 or sum(size) >= 1099511627776
    ),
    folders as (
        select distinct regexp_replace(key, '[^/]*$', '') as folder from listing
        where contains(key, '/')
    ),
    parts as (select string_split(folder, '/') as part from folders),
    children as (
        select distinct array_to_string(part[1:level], '/') as folder, level
        from (select part, unnest(range(1, len(part))) as level from parts)
    ),
    wide as (
        select regexp_replace(folder, '[^/]*$', '') as key, count(*) as count from children
        group by 1 having count(*) > 50000
    )
    select 'ManyVersions' as kind, key, versions as count, bytes from versions where versions > 1000
    union all
    select 'LargeVersions', key, bytes, bytes from versions where bytes >= 1099511627776
    union all select 'BigPrefix', key, count, null from wide
"""

_CLASSES = """
    select storage_class, is_latest, is_delete_marker,
        case when size < 1 << 10 then 0 when size < 1 << 16 then 1 when size < 1 << 18 then 2
            when size < 1 << 19 then 3 when size < 1 << 20 then 4 when size < 10 << 20 then 5
            when size < 64 << 20 then 6 when size < 128 << 20 then 7 when size < 512 << 20 then 8
            else 9 end as size_class,
        case when age < 1 then 0 when age < 7 then 1 when age < 30 then 2 when age < 90 then 3
            when age < 365 then 4 else 5 end as age_class,
        count(*) as versions, sum(size)::bigint as bytes
    from (select *, (1767312000 - epoch(last_modified_date)) / 86400 as age from listing)
    group by all
"""
_PREFIXES = """
    with folders as (
        select regexp_replace(key, '[^/]*$', '') as folder, count(*) as versions,
            sum(size)::bigint as bytes
        from listing group by 1
    ),
    parts as (select string_split(folder, '/') as part, versions, bytes from folders)
    select array_to_string(part[1:level], '/') || '/' as prefix, sum(versions)::bigint as versions,
        sum(bytes)::bigint as bytes
    from (
        select part, versions, bytes, unnest(range(1, least(len(part), 9))) as level from parts
    )
    group by 1 order by 3 desc limit 20
"""


def main() -> None:
    data, folder = Path(sys.argv[1]), Path(sys.argv[2])
    database = duckdb.connect()
    database.execute(f"set temp_directory = '{folder}/spill'")
    database.execute(f"create view listing as from read_parquet('{data}/*.parquet')")
    database.execute(f"copy ({_FINDINGS}) to '{folder}/findings.parquet'")
    database.execute(f"copy ({_CLASSES}) to '{folder}/classes.parquet'")
    database.execute(f"copy ({_PREFIXES}) to '{folder}/prefixes.parquet'")


if __name__ == "__main__":
    main()
