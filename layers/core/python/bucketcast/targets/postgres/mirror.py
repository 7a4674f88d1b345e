"""The format `namespace`: how staged rows are merged with the table and its guard, in SQL.

`sql` says what the guard's columns mean; `bucketcast.mirror` has the rules.
"""

from typing import LiteralString

from bucketcast.mirror.registers import UNVERSIONED
from bucketcast.targets.postgres.sql import Names

_BY_BYTES = 'collate "C"'
_OBJECT = "'{Records,0,s3,object}'"


def function(names: Names) -> bytes:
    """Make the function that joins the staged rows into both tables, within one transaction.

    Its locks are what lets connections work side by side. Keys share 64 slots, which a batch takes
    in one order: shared where it only puts, alone where it removes or overlays, so that a put and
    a newer removal of a key never pass each other unseen. Two batches that put the same key meet
    at its rows, which both lock by order of the key. A key may have very many versions in the
    guard: only those are read that are seen or that the batch names.
    """
    hidden = f"""exists (
    select from {names.guard} known
    where known.key = s.key and known.version in ('', s.version) and (known.put > s.moment
      or known.removed > s.moment or known.removed_at > substr(s.moment, 33)))"""
    # The row may show the time of an overlay, which tells nothing of its put.
    if_guarded = f"""or exists (
    select from {names.guard} known where known.key = excluded.key and known.version = '')"""
    body = f"""
begin
  perform case
    when alone then pg_advisory_xact_lock(class, slot)
    else pg_advisory_xact_lock_shared(class, slot)
  end
  from (
    select ({_literal(names.guard)}::regclass::oid::bigint & 2147483647)::int as class,
           hashtext(key) & 63 as slot, bool_or(register <> 'put') as alone
    from pg_temp.bucketcast_staged group by 2 order by 2
  ) slots;

  if not only_puts then
    insert into {names.guard} as known (key, version, put, removed, removed_at)
    select s.key, s.version,
      coalesce(max({_moment("shown.value")}) filter (where shown.key is not null), ''),
      max(s.moment), max(s.time)
    from (
      select key, version, moment, time
      from pg_temp.bucketcast_staged where register = 'removal'
      union all
      select key, version, '', '' from pg_temp.bucketcast_staged where register = 'overlay'
      union all
      select key, '', '', '' from pg_temp.bucketcast_staged where register <> 'put'
    ) s left join {names.table} shown on shown.key = s.key and s.version = ''
    group by s.key, s.version
    on conflict (key, version) do update set
      removed = greatest(known.removed, excluded.removed),
      removed_at = greatest(known.removed_at, excluded.removed_at),
      noted_at = excluded.noted_at;
  end if;

  perform from {names.guard} known
  where known.version = '' and known.key in (select key from pg_temp.bucketcast_staged)
  order by known.key collate "C" for update;
  if not found then
    {_put(names)}
    return;
  end if;

  update {names.guard} known set overlay = s.value, overlay_time = s.time
  from pg_temp.bucketcast_staged s
  where s.register = 'overlay' and known.key = s.key and known.version = s.version
    and s.time > known.overlay_time;

  update {names.guard} known set put = s.moment, noted_at = now()
  from pg_temp.bucketcast_staged s
  where s.register = 'put' and known.key = s.key and known.version = '' and s.moment > known.put;

  {_put(names, f"and not {hidden}", if_guarded)}

  delete from {names.table} shown using {names.guard} known, pg_temp.bucketcast_staged s
  where known.key = shown.key and known.version = '' and s.key = shown.key
    and ({_moment("shown.value")} < known.put
      or s.register = 'put' and s.moment = known.put and {hidden}
      or s.register = 'removal' and s.version in ('', {_version("shown.value")})
      and (s.moment > known.put or s.time > substr(known.put, 33)));

  update {names.table} shown
  set value = jsonb_set(known.overlay, {_OBJECT}, shown.value #> {_OBJECT})
  from {names.guard} known
  where known.key = shown.key and known.version = {_version("shown.value")}
    and known.key in (select key from pg_temp.bucketcast_staged)
    and known.overlay_time > {_time("shown.value")} and shown.value #> {_OBJECT} is not null;
end
"""  # noqa: S608
    return f"""
create or replace function pg_temp.bucketcast_join(only_puts boolean) returns void language plpgsql
as {_literal(body)}
""".encode()


def _put(names: Names, condition: str = "", always: str = "") -> str:
    new, old = (_digits(value) for value in ("excluded.value", "shown.value"))
    return f"""
  insert into {names.table} as shown (key, value)
  select s.key, s.value from pg_temp.bucketcast_staged s
  where s.register = 'put' {condition}
  order by s.key collate "C"
  on conflict (key) do update set value = excluded.value
  where {new} > {old} or {new} = {old} and {_time("excluded.value")} > {_time("shown.value")}
    {always};
"""  # noqa: S608


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _text(value: str, path: LiteralString) -> str:
    """Return a text of a visible row's event; "" where it is absent."""
    return f"coalesce({value} #>> '{{Records,0,{path}}}', '')"


def _time(value: str) -> str:
    return f"(rtrim({_text(value, 'eventTime')}, 'Z') {_BY_BYTES})"


def _digits(value: str) -> str:
    """Return the sequencer; digits that are all 0 where there is none, as for a put without one."""
    return f"lpad(lower({_text(value, 's3,object,sequencer')} {_BY_BYTES}), 32, '0')"


def _moment(value: str) -> str:
    """Return the order key of a visible row's put; the row's time may be that of an overlay."""
    return f"({_digits(value)} || {_time(value)})"


def _version(value: str) -> str:
    """Return the version of the put that a visible row shows."""
    return f"coalesce(nullif({_text(value, 's3,object,versionId')}, ''), '{UNVERSIONED}')"
