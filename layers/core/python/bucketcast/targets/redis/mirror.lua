-- Keep a hash in step with a bucket; `bucketcast.mirror` has the rules.
--
-- KEYS: rows, guard, aged. ARGV[1], packed: {puts, overlays, removals, expiries, now}, each list flat:
-- (number, path, sequencer, time, version, text, whether to check it, eTag if it was only seen, else
-- "")…, (number, path, version, time,
-- text)…, (path, version, sequencer, time)… twice; `now` in s since 1970. Returns the numbers
-- of the entries whose text is not a record with these values; nothing is done for them.
--
-- A new put's sequencer, time and version are arguments; those of a stored row, and the position of
-- its object, are read from the row. The parser goes from member to member, over any blanks, and
-- copies numbers and the object as they are (cjson would lose digits, the order and invalid Unicode).
-- A row that is not a record is replaced. A text from another source is parsed before it becomes a row,
-- so that every written row can be read.
--
-- Only a key that saw a removal or an overlay has a state in the guard: its newest put's {seq, time,
-- version, gone}; `gone` means hidden. Beside the states, in fields whose names no bucket can have,
-- are removals `-` {seq, time, at} and overlays `+` {time, head, tail} by version; `at` is the newest
-- time of the removals without sequencer, which have no common order with the others. `aged` has the
-- time of the last removal or overlay of each field; a state there is never older than the other
-- fields of its key.
--
-- Puts of keys without a state, nearly all, are written first. Then the other entries are read, merged
-- and written in bulk. Reads come before the first write, so a key
-- of the wrong type fails before anything is written.

local find, sub, byte, match = string.find, string.sub, string.byte, string.match
local QUOTE, OPEN, CLOSE, LIST, LISTED = 34, 123, 125, 91, 93
-- The members to find in a row; no two have the same name.
local RECORD = {eventTime = true, s3 = {object = {sequencer = true, versionId = true}}}
local SHOWN = {eventTime = true, s3 = {object = {eTag = true, sequencer = true, versionId = true}}}

-- These functions fail if the text is not JSON: by arithmetic on nil, or by error().
local function string_end(text, at)
  local here = at + 1
  while true do
    here = find(text, '["\\]', here)
    if byte(text, here) == QUOTE then return here end
    here = here + 2
  end
end
local function value_end(text, at)
  local first = byte(text, at)
  if first == QUOTE then return string_end(text, at) end
  if first ~= OPEN and first ~= LIST then return find(text, '[%s,%]}]', at) - 1 end
  local depth, here = 0, at
  repeat
    here = find(text, '["%[%]{}]', here)
    local char = byte(text, here)
    if char == QUOTE then
      here = string_end(text, here)
    else
      depth = depth + ((char == OPEN or char == LIST) and 1 or -1)
    end
    here = here + 1
  until depth == 0
  return here - 1
end
local function read_string(text, from, to)
  local plain = sub(text, from + 1, to - 1)
  if not find(plain, '\\', 1, true) then return plain end
  local ok, list = pcall(cjson.decode, '[' .. sub(text, from, to) .. ']')
  return ok and list[1] or plain
end
local function scan(text, at, wanted, positions)
  if byte(text, at) ~= OPEN then error() end
  at = find(text, '%S', at + 1)
  while byte(text, at) ~= CLOSE do
    if byte(text, at) ~= QUOTE then error() end
    local stop = string_end(text, at)
    local name = read_string(text, at, stop)
    at = find(text, '[^%s:]', stop + 1)
    local inner = wanted[name]
    stop = type(inner) == 'table' and scan(text, at, inner, positions) or value_end(text, at)
    if inner then positions[name] = {at, stop} end
    at = find(text, '[^%s,]', stop + 1)
  end
  return at
end
local function read_value(text, at)
  return at and byte(text, at[1]) == QUOTE and read_string(text, at[1], at[2]) or nil
end
local function parse(text, wanted)
  local _, at = find(text, '^%s*{%s*"Records"%s*:%s*%[%s*')
  local positions = {}
  at = find(text, '%S', scan(text, at + 1, wanted, positions) + 1)
  if byte(text, at) ~= LISTED then error() end
  local seq = read_value(text, positions.sequencer) or ''
  local day, part = match(read_value(text, positions.eventTime), '^(%d+%-%d+%-%d+T[%d:]+)%.?(%d*)Z$')
  if #seq > 32 or find(seq, '%X') then error() end
  local version = read_value(text, positions.versionId) or ''
  return {
    seq = string.rep('0', 32 - #seq) .. string.lower(seq),
    time = day .. '.' .. sub(part .. '000', 1, 3) .. 'Z',
    version = version == '' and 'null' or version,
    from = positions.object[1], to = positions.object[2],
    etag = read_value(text, positions.eTag), seq_at = positions.sequencer,
  }
end
local function read(text, wanted)
  local ok, record = pcall(parse, text, wanted or RECORD)
  return ok and record or nil
end

local rows, guard, aged = KEYS[1], KEYS[2], KEYS[3]
local puts, overlays, removals, expiries, now = unpack(cmsgpack.unpack(ARGV[1]))
local call, pack_value, unpack_value = redis.call, cmsgpack.pack, cmsgpack.unpack
local refused, ANY = {}, ''

local function call_bulk(command, key, list)
  return #list > 0 and call(command, key, unpack(list)) or {}
end
local function field(kind, path, version) return kind .. #path .. ' ' .. path .. version end
local function is_newer(seq, time, other)
  return seq > other.seq or seq == other.seq and time > other.time
end
local function matches(text, seq, time, version)
  local record = read(text)
  return record and record.seq == seq and record.time == time and record.version == version
end

local guarded = call('HLEN', guard) > 0
local guarded_puts = {}
if #puts > 0 then
  local paths, fields = {}, {}
  for i = 1, #puts, 8 do paths[#paths + 1] = puts[i + 1] end
  local stored = call_bulk('HMGET', rows, paths)
  local states = guarded and call_bulk('HMGET', guard, paths)
  for n = 1, #paths do
    local i = 8 * n - 7
    local number, path, seq, time, version, text, check, seen = unpack(puts, i, i + 7)
    local shown = seen ~= '' and stored[n] and read(stored[n], SHOWN)
    -- The row of its object stays as it is, but for the sequencer.
    if shown and shown.version == version and shown.etag == seen and shown.seq_at then
      local own = read(text).seq_at
      text = sub(stored[n], 1, shown.seq_at[1] - 1) .. sub(text, own[1], own[2])
        .. sub(stored[n], shown.seq_at[2] + 1)
      time, check = shown.time, false
    end
    local row = stored[n] and not (states and states[n]) and read(stored[n])
    if check and not matches(text, seq, time, version) then
      refused[#refused + 1] = number
    elseif states and states[n] then
      guarded_puts[#guarded_puts + 1] = {path = path, seq = seq, time = time, version = version,
                                         text = text}
    elseif not row or is_newer(seq, time, row) then
      fields[#fields + 1] = path
      fields[#fields + 1] = text
    end
  end
  call_bulk('HSET', rows, fields)
end

local entries, order, paths = {}, {}, {}
local function entry_of(path)
  if not entries[path] then
    entries[path] = {path = path, changes = {}}
    order[#order + 1] = entries[path]
    paths[#paths + 1] = path
  end
  return entries[path]
end
for _, put in ipairs(guarded_puts) do entry_of(put.path).new = put end
local function add_removals(list, if_shown)
  for i = 1, #list, 4 do
    local changes = entry_of(list[i]).changes
    changes[#changes + 1] = {kind = '-', version = list[i + 1], seq = list[i + 2], time = list[i + 3],
                         if_shown = if_shown}
  end
end
add_removals(removals, false)
add_removals(expiries, true)
for i = 1, #overlays, 5 do
  local number, path, version, time, text = unpack(overlays, i, i + 4)
  local record = read(text)
  if record and record.time == time and record.version == version then
    local changes = entry_of(path).changes
    changes[#changes + 1] = {kind = '+', version = version, time = time,
                         head = sub(text, 1, record.from - 1), tail = sub(text, record.to + 1)}
  else
    refused[#refused + 1] = number
  end
end

-- Read the rows, the states, and the removals and overlays of the versions concerned.
local stored, states = call_bulk('HMGET', rows, paths), call_bulk('HMGET', guard, paths)
local names, merged = {}, {}
for n, entry in ipairs(order) do
  entry.stored, entry.state = stored[n], states[n]
  entry.row = stored[n] and read(stored[n])
  entry.put = states[n] and unpack_value(states[n]).put
  if entry.row and not (entry.put and entry.put.seq >= entry.row.seq) then
    entry.put = {seq = entry.row.seq, time = entry.row.time, version = entry.row.version}
  elseif not entry.row and entry.put and not entry.put.gone then
    entry.put = nil  -- the row was deleted by hand
  end
  local new = entry.new
  if new and not (entry.put and not is_newer(new.seq, new.time, entry.put)) then
    entry.put, entry.text = {seq = new.seq, time = new.time, version = new.version}, new.text
  end
  names[#names + 1] = field('-', entry.path, ANY)
  if entry.put then
    names[#names + 1] = field('-', entry.path, entry.put.version)
    names[#names + 1] = field('+', entry.path, entry.put.version)
  end
  for _, new in ipairs(entry.changes) do
    new.name = field(new.kind, entry.path, new.version)
    names[#names + 1] = new.name
  end
end
for n, packed in ipairs(call_bulk('HMGET', guard, names)) do
  merged[names[n]] = packed and unpack_value(packed) or nil
end

local function hides(removal, put)
  if not removal then return false end
  return removal.at > put.time or is_newer(removal.seq, removal.time, put)
end
local function is_hidden(path, put)
  return put.gone or hides(merged[field('-', path, ANY)], put)
    or hides(merged[field('-', path, put.version)], put)
end

-- Merge the changes: removals and overlays only grow. An expiry counts if its version is shown.
local function merge_removal(old, new)
  local result = {seq = old and old.seq or '', time = old and old.time or '', at = old and old.at or ''}
  if new.seq == '' then
    if new.time > result.at then result.at = new.time end
  elseif is_newer(new.seq, new.time, result) then
    result.seq, result.time = new.seq, new.time
  end
  local same = old and result.seq == old.seq and result.time == old.time and result.at == old.at
  return not same and result or nil
end
local function merge_overlay(old, new)
  if old and old.time >= new.time then return nil end
  return {time = new.time, head = new.head, tail = new.tail}
end
local guard_fields, ages = {}, {}
local function set_guard(name, value)
  guard_fields[#guard_fields + 1] = name
  guard_fields[#guard_fields + 1] = pack_value(value)
end
local function set_age(name)
  ages[#ages + 1] = now
  ages[#ages + 1] = name
end
for _, entry in ipairs(order) do
  local put = entry.put
  local shown = put and not is_hidden(entry.path, put) and put.version
  for _, new in ipairs(entry.changes) do
    local counts = not new.if_shown or new.version == shown
    local changed = counts and (new.kind == '-' and merge_removal or merge_overlay)(merged[new.name], new)
    if counts and (changed or not entry.state) then
      merged[new.name] = changed or merged[new.name]
      set_guard(new.name, merged[new.name])
      set_age(new.name)
      entry.aged = true
    end
  end
end

-- Decide about the rows.
local rows_to_write, rows_to_delete = {}, {}
for _, entry in ipairs(order) do
  local put, text = entry.put, entry.text
  if put then put.gone = is_hidden(entry.path, put) or nil end
  if put and put.gone or not put and merged[field('-', entry.path, ANY)] then
    if entry.stored then rows_to_delete[#rows_to_delete + 1] = entry.path end
  elseif put then
    local overlay, row = merged[field('+', entry.path, put.version)], entry.row
    if overlay and overlay.time > put.time and (text or overlay.time > row.time) then
      local put_text, record = text or entry.stored, text and read(text) or row
      text = overlay.head .. sub(put_text, record.from, record.to) .. overlay.tail
    end
    if text then
      rows_to_write[#rows_to_write + 1] = entry.path
      rows_to_write[#rows_to_write + 1] = text
    end
  end
  if entry.aged or entry.text or put and put.gone then set_guard(entry.path, {put = put or false}) end
  if entry.aged then set_age(entry.path) end
end
-- The ages first: what has one is deleted in time, also if another command fails.
call_bulk('ZADD', aged, ages)
call_bulk('HSET', rows, rows_to_write)
call_bulk('HDEL', rows, rows_to_delete)
call_bulk('HSET', guard, guard_fields)
return refused
