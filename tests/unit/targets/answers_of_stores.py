"""What becomes of each answer of databases, searches and webhooks, for `answers`."""

import ctypes
import inspect
import re
from collections.abc import Callable, Iterator
from http import HTTPStatus
from importlib import import_module
from itertools import count, takewhile
from types import ModuleType, SimpleNamespace
from typing import Any

import pg8000.exceptions
import psycopg.errors
import pymysql
import redis.exceptions
import scramp.core
import urllib3.exceptions
from pymysql import constants
from redis._parsers.base import BaseParser

from bucketcast import targets
from bucketcast.errors import DeliveryError
from bucketcast.settings.options import read
from bucketcast.targets.elasticsearch import answers as of_searches
from bucketcast.targets.elasticsearch import errors as elasticsearch
from bucketcast.targets.mysql.answers import ANSWERS as MYSQL
from bucketcast.targets.postgres.answers import ANSWERS as POSTGRES
from bucketcast.targets.webhook import errors as webhook

Answer = tuple[str, DeliveryError]
"""A code or a class as the list has it, and the error that the product makes of it."""


def exceptions(*modules: ModuleType) -> Iterator[type[Exception]]:
    for module in modules:
        for _, each in inspect.getmembers(module, inspect.isclass):
            if issubclass(each, Exception):
                yield each


def of_mysql() -> Iterator[Answer]:
    for names in (constants.ER, constants.CR):
        for code in vars(names).values():
            if isinstance(code, int):
                yield str(code), MYSQL.of(pymysql.MySQLError(code, "it"), "h", login="")


def of_pymysql() -> Iterator[Answer]:
    for each in exceptions(pymysql.err):
        yield each.__name__, MYSQL.of(each(0, ""), "h")


def of_postgres() -> Iterator[Answer]:
    """Yield each SQLSTATE, by its class where all of that have one verdict."""
    for code in filter(re.compile("[0-9A-Z]{5}").fullmatch, psycopg.errors._sqlcodes):
        listed = code if POSTGRES.find("", [code]) else code[:2]
        yield listed, POSTGRES.of(pg8000.DatabaseError({"C": code, "M": "it"}), "h")


def of_pg8000() -> Iterator[Answer]:
    for each in exceptions(pg8000.exceptions, scramp.core):
        yield each.__name__, POSTGRES.of(each("it"), "h")


class UsedConnection:
    def is_usable(self) -> bool:
        return True

    def close(self) -> None:
        pass


def redis_target() -> Any:
    """Return a target that is connected."""
    kind = targets.load("redis")
    target: Any = kind(read(kind.Settings, {"address": "h", "key": "k"}))
    target._open = UsedConnection()
    return target


def of_redis() -> Iterator[Answer]:
    """Yield the prefixes that redis-py knows, and others that a write can meet."""
    target = redis_target()
    parse: Callable[[str], Exception] = BaseParser.parse_error
    for prefix in (*BaseParser.EXCEPTION_CLASSES, "BUSY", "MISCONF", "NOREPLICAS", "WRONGTYPE"):
        error = parse(f"{prefix} 1 h:1")
        yield prefix, target._answer(error)


def of_redis_py() -> Iterator[Answer]:
    target = redis_target()
    for each in exceptions(redis.exceptions):
        if issubclass(each, redis.exceptions.RedisError):
            yield each.__name__, target._answer(each.__new__(each, "it"))


def of_elasticsearch() -> Iterator[Answer]:
    for status in HTTPStatus:
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            yield str(status.value), elasticsearch.of_response(status, {}, b"it", "http://h")


def of_urllib3() -> Iterator[Answer]:
    for each in exceptions(urllib3.exceptions):
        if issubclass(each, urllib3.exceptions.HTTPError):
            error = each.__new__(each)
            vars(error).update(partial=0, expected=1, length="")  # which some print
            yield each.__name__, of_searches.ANSWERS.of(error, "http://h", connecting=True)


WEBHOOK = read(targets.load("webhook").Settings, {"endpoint": "http://h"})


def of_webhook() -> Iterator[Answer]:
    handle = SimpleNamespace(getinfo=lambda _: 0, getinfo_raw=lambda _: b"")
    for status in HTTPStatus:
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            yield str(status.value), webhook.refusal(WEBHOOK, handle, status, b"")


def of_curl() -> Iterator[Answer]:
    """Yield curl's codes, of which it has a text; pycurl has no names for the newest."""
    text = ctypes.CDLL(import_module("pycurl._pycurl").__file__).curl_easy_strerror
    text.restype = ctypes.c_char_p
    codes = takewhile(lambda code: text(code) != b"Unknown error", count(1))
    for code in codes:
        yield str(code), webhook.connection_error(WEBHOOK, code, "it", guard=None)


OF_SERVERS: dict[str, Callable[[], Iterator[Answer]]] = {
    "elasticsearch": of_elasticsearch,
    "mysql": of_mysql,
    "postgres": of_postgres,
    "redis": of_redis,
    "webhook": of_webhook,
}
OF_LIBRARIES: dict[str, Callable[[], Iterator[Answer]]] = {
    "elasticsearch": of_urllib3,
    "mysql": of_pymysql,
    "postgres": of_pg8000,
    "redis": of_redis_py,
    "webhook": of_curl,
}
"""The exceptions that the client's library can raise."""
