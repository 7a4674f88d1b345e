"""The format `namespace`: the SQL that merges staged rows with the table and its guard.

`sql` describes the guard's columns; `bucketcast.mirror` has the rules.
"""

from typing import LiteralString

from bucketcast.mirror.registers import UNVERSIONED
from bucketcast.targets.base.tables import LOCK_SECONDS
from bucketcast.targets.postgres.sql import Names

_BY_BYTES = 'collate "C"'
_OBJECT = "'{Records,0,s3,object}'"
_SEQUENCER = "'{Records,0,s3,object,sequencer}'"
_ETAG = "'{Records,0,s3,object,eTag}'"


def create_join(names: Names) -> str:
    """Create the function that merges the staged rows into both tables, in one transaction.

    Its locks let connections work in parallel. Keys share 64 slots, which a batch locks in one
    order: shared if it only puts, else exclusively, so that a put always sees a newer removal of
    its key. Two batches that put the same key both lock its rows, in the order of the keys. A key
    may have very many versions in the guard: only those of the row and of the batch are read.
    """
    hidden = f"""exists (
    select from {names.guard} known
    where known.key = s.key and known.version in ('', s.version) and (known.put > s.moment
      or known.removed > s.moment or known.removed_at > substr(s.moment, 33)))"""
    # The row may have the time of an overlay, which says nothing about its put.
    if_guarded = f"""or exists (
    select from {names.guard} known where known.key = excluded.key and known.version = '')"""
    body = f"""
begin
  perform case
    when exclusive then pg_advisory_xact_lock(class, slot)
    else pg_advisory_xact_lock_shared(class, slot)
  end
  from (
    select ({_literal(names.guard)}::regclass::oid::bigint & 2147483647)::int as class,
           hashtext(key) & 63 as slot, bool_or(register <> 'put') as exclusive
    from pg_temp.bucketcast_staged group by 2 order by 2
  ) slots;

  if current_setting('lock_timeout') = '0' then  -- for rows; a slot may be held for a whole batch
    perform set_config('lock_timeout', '{LOCK_SECONDS}s', true);
  end if;
  if not only_puts then
    -- A put that was only seen leaves the row of its object as it is, but for the sequencer.
    update pg_temp.bucketcast_staged s
    set moment = substr(s.moment, 1, 32) || {_time("shown.value")},
      value = jsonb_set(shown.value, {_SEQUENCER}, s.value #> {_SEQUENCER})
    from {names.table} shown
    where s.register = 'seen' and shown.key = s.key and {_version("shown.value")} = s.version
      and shown.value #> {_ETAG} = s.value #> {_ETAG};
    delete from pg_temp.bucketcast_staged s
    where s.register = 'expiry' and not exists (
      select from {names.table} shown
      where shown.key = s.key and {_version("shown.value")} = s.version
    ) and not exists (
      select from pg_temp.bucketcast_staged own left join {names.table} shown using (key)
      where key = s.key and own.register in ('put', 'seen') and own.version = s.version
        and own.moment > coalesce({_moment("shown.value")}, '')
    );
    update pg_temp.bucketcast_staged
    set register = case register when 'seen' then 'put' else 'removal' end
    where register in ('seen', 'expiry');

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
"""


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
    """Return the SQL for a string in a row's record; "" if it is missing."""
    return f"coalesce({value} #>> '{{Records,0,{path}}}', '')"


def _time(value: str) -> str:
    return f"(rtrim({_text(value, 'eventTime')}, 'Z') {_BY_BYTES})"


def _digits(value: str) -> str:
    """Return the SQL for the sequencer; a missing one is all zeros."""
    return f"lpad(lower({_text(value, 's3,object,sequencer')} {_BY_BYTES}), 32, '0')"


def _moment(value: str) -> str:
    """Return the SQL for the moment of a row's put; the row's time may be that of an overlay."""
    return f"({_digits(value)} || {_time(value)})"


def _version(value: str) -> str:
    """Return the SQL for the version of a row's put."""
    return f"coalesce(nullif({_text(value, 's3,object,versionId')}, ''), '{UNVERSIONED}')"
