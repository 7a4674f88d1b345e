"""Spark's columns, derived from the fields of a row class; and rows that are saved."""

from datetime import datetime
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

_TYPES: Final = {
    str: StringType(),
    int: LongType(),
    bool: BooleanType(),
    datetime: TimestampType(),
}


def schema(row: type) -> StructType:
    """Return the schema of a NamedTuple's rows; fields that may be None are nullable."""
    return StructType([_column(name, hint) for name, hint in get_type_hints(row).items()])


def _column(name: str, hint: Any) -> StructField:
    return StructField(name, _type(hint), nullable=NoneType in get_args(hint))


def _type(hint: Any) -> DataType:
    if hint in _TYPES:
        return _TYPES[hint]
    if hasattr(hint, "_fields"):
        return schema(hint)
    inner = get_args(hint)[0]  # of a list, or of `… | None`
    return ArrayType(_type(inner), containsNull=False) if get_origin(hint) is list else _type(inner)


def save(rows: DataFrame, url: str) -> DataFrame:
    """Write rows, and return them as they are there.

    Else each action would read their source again, with later changes. Workers could keep them on
    their disks, but these are small, and Glue takes back a worker with what it keeps.
    """
    rows.write.mode("overwrite").parquet(url)
    return rows.sparkSession.read.schema(rows.schema).parquet(url)
