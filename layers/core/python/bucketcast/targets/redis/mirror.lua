-- The script that keeps a hash in step with a bucket; `bucketcast.mirror` has the rules.
--
-- KEYS: rows, guard, aged. ARGV[1], packed: {puts, overlays, removals, now, forgotten}, each list
-- flat: (number, path, sequencer, time, version, text, whether to check it)…, (number, path, version,
-- time, text)…, (path, version, sequencer, time)…; times in s since 1970. The answer: the numbers of
-- those whose text is no record that says the same; nothing was done for them.
--
-- What the guard needs of a new put stands beside its text, and what it needs of a row is read from
-- the row: sequencer, time, version, and where its object begins and ends. The reader walks through
-- the JSON from member to member, over any blanks, and leaves numbers and the object as they are
-- written (cjson would lose digits, the order and what is no valid Unicode). A row that is no record
-- says nothing, and gives way. A text that came from elsewhere is read before it becomes a row, so
-- that whatever is written can be read.
--
-- Only a key that saw a removal or an overlay has a state in the guard: its newest put's {seq, time,
-- version, gone}. Beside the states stand, each in a field of its own whose name no bucket can have,
-- removals `-` {seq, time, at} and overlays `+` {time, head, tail} by version; `at` is the newest time
-- of those without sequencer, which cannot be ordered together with the others. All these fields stand
-- in `aged` by when a removal or an overlay was last noted; a state is never older there than what
-- belongs to its key.
--
-- Puts of keys without a state, which are nearly all, are written first. Then what is old is
-- forgotten, and the rest is read, changed and written in bulk. A key of the wrong type is met by a
-- read, before the first write.

local find, sub, byte, match = string.find, string.sub, string.byte, string.match
local QUOTE, OPEN, CLOSE, LIST, LISTED = 34, 123, 125, 91, 93
-- What is wanted of a row; no two of the names are the same.
local RECORD = {eventTime = true, s3 = {object = {sequencer = true, versionId = true}}}

-- Each of these fails where the text is no JSON: with nil in a sum, or by error().
local function closed(text, at)
  local here = at + 1
  while true do
    here = find(text, '["\\]', here)
    if byte(text, here) == QUOTE then return here end
    here = here + 2
  end
end
local function ending(text, at)
  local first = byte(text, at)
  if first == QUOTE then return closed(text, at) end
  if first ~= OPEN and first ~= LIST then return find(text, '[%s,%]}]', at) - 1 end
  local depth, here = 0, at
  repeat
    here = find(text, '["%[%]{}]', here)
    local char = byte(text, here)
    if char == QUOTE then
      here = closed(text, here)
    else
      depth = depth + ((char == OPEN or char == LIST) and 1 or -1)
    end
    here = here + 1
  until depth == 0
  return here - 1
end
local function string_at(text, from, to)
  local plain = sub(text, from + 1, to - 1)
  if not find(plain, '\\', 1, true) then return plain end
  local ok, list = pcall(cjson.decode, '[' .. sub(text, from, to) .. ']')
  return ok and list[1] or plain
end
local function scan(text, at, wanted, found)
  if byte(text, at) ~= OPEN then error() end
  at = find(text, '%S', at + 1)
  while byte(text, at) ~= CLOSE do
    if byte(text, at) ~= QUOTE then error() end
    local stop = closed(text, at)
    local name = string_at(text, at, stop)
    at = find(text, '[^%s:]', stop + 1)
    local inner, till = wanted[name]
    if type(inner) == 'table' then
      till = scan(text, at, inner, found)
    else
      till = ending(text, at)
    end
    if inner then found[name] = {at, till} end
    at = find(text, '[^%s,]', till + 1)
  end
  return at
end
local function value(text, at)
  return at and byte(text, at[1]) == QUOTE and string_at(text, at[1], at[2]) or nil
end
local function record(text)
  local _, at = find(text, '^%s*{%s*"Records"%s*:%s*%[%s*')
  local found = {}
  at = find(text, '%S', scan(text, at + 1, RECORD, found) + 1)
  if byte(text, at) ~= LISTED then error() end
  local seq = value(text, found.sequencer) or ''
  local day, part = match(value(text, found.eventTime), '^(%d+%-%d+%-%d+T[%d:]+)%.?(%d*)Z$')
  if #seq > 32 or find(seq, '%X') then error() end
  local version = value(text, found.versionId) or ''
  return {
    seq = string.rep('0', 32 - #seq) .. string.lower(seq),
    time = day .. '.' .. sub(part .. '000', 1, 3) .. 'Z',
    version = version == '' and 'null' or version,
    from = found.object[1], to = found.object[2],
  }
end
local function read(text)
  local ok, it = pcall(record, text)
  return ok and it or nil
end

local rows, guard, aged = KEYS[1], KEYS[2], KEYS[3]
local puts, overlays, removals, now, forgotten = unpack(cmsgpack.unpack(ARGV[1]))
local call, keep, load = redis.call, cmsgpack.pack, cmsgpack.unpack
local refused, ANY = {}, ''

local function each(command, key, list)
  return #list > 0 and call(command, key, unpack(list)) or {}
end
local function field(kind, path, version) return kind .. #path .. ' ' .. path .. version end
local function later(seq, time, than)
  return seq > than.seq or seq == than.seq and time > than.time
end
local function says(text, seq, time, version)
  local it = read(text)
  return it and it.seq == seq and it.time == time and it.version == version and it
end

local old = call('ZRANGEBYSCORE', aged, '-inf', forgotten, 'LIMIT', 0, 1000)
local guarded = call('HLEN', guard) > 0
local stated = {}
if #puts > 0 then
  local paths, take = {}, {}
  for i = 1, #puts, 7 do paths[#paths + 1] = puts[i + 1] end
  local stored, states = each('HMGET', rows, paths), guarded and each('HMGET', guard, paths)
  for n = 1, #paths do
    local i = 7 * n - 6
    local number, path, seq, time, version, text, check = unpack(puts, i, i + 6)
    local before = stored[n] and not (states and states[n]) and read(stored[n])
    if check and not says(text, seq, time, version) then
      refused[#refused + 1] = number
    elseif states and states[n] then
      stated[#stated + 1] = {path = path, seq = seq, time = time, version = version, text = text}
    elseif not before or later(seq, time, before) then
      take[#take + 1] = path
      take[#take + 1] = text
    end
  end
  each('HSET', rows, take)
end

each('HDEL', guard, old)
each('ZREM', aged, old)

local its, order, paths = {}, {}, {}
local function want(path)
  if not its[path] then
    its[path] = {path = path, noted = {}}
    order[#order + 1] = its[path]
    paths[#paths + 1] = path
  end
  return its[path]
end
for _, put in ipairs(stated) do want(put.path).new = put end
for i = 1, #removals, 4 do
  local noted = want(removals[i]).noted
  noted[#noted + 1] = {kind = '-', version = removals[i + 1], seq = removals[i + 2],
                       time = removals[i + 3]}
end
for i = 1, #overlays, 5 do
  local number, path, version, time, text = unpack(overlays, i, i + 4)
  local it = read(text)
  if it and it.time == time and it.version == version then
    local noted = want(path).noted
    noted[#noted + 1] = {kind = '+', version = version, time = time,
                         head = sub(text, 1, it.from - 1), tail = sub(text, it.to + 1)}
  else
    refused[#refused + 1] = number
  end
end

-- What is there: the rows, the states, and what the guard says of the versions in question.
local stored, states = each('HMGET', rows, paths), each('HMGET', guard, paths)
local names, merged = {}, {}
for n, it in ipairs(order) do
  it.stored, it.state = stored[n], states[n]
  it.row = stored[n] and read(stored[n])
  it.put = states[n] and load(states[n]).put
  if it.row and not (it.put and it.put.seq >= it.row.seq) then
    it.put = {seq = it.row.seq, time = it.row.time, version = it.row.version}
  elseif not it.row and it.put and not it.put.gone then
    it.put = nil  -- somebody took the row away
  end
  local new = it.new
  if new and not (it.put and not later(new.seq, new.time, it.put)) then
    it.put, it.text = {seq = new.seq, time = new.time, version = new.version}, new.text
  end
  names[#names + 1] = field('-', it.path, ANY)
  if it.put then
    names[#names + 1] = field('-', it.path, it.put.version)
    names[#names + 1] = field('+', it.path, it.put.version)
  end
  for _, new in ipairs(it.noted) do
    new.name = field(new.kind, it.path, new.version)
    names[#names + 1] = new.name
  end
end
for n, packed in ipairs(each('HMGET', guard, names)) do
  merged[names[n]] = packed and load(packed) or nil
end

-- What is new: each of these only ever grows.
local function removed(before, new)
  local it = {seq = before and before.seq or '', time = before and before.time or '',
              at = before and before.at or ''}
  if new.seq == '' then
    if new.time > it.at then it.at = new.time end
  elseif later(new.seq, new.time, it) then
    it.seq, it.time = new.seq, new.time
  end
  local same = before and it.seq == before.seq and it.time == before.time and it.at == before.at
  return not same and it or nil
end
local function overlaid(before, new)
  if before and before.time >= new.time then return nil end
  return {time = new.time, head = new.head, tail = new.tail}
end
local made, ages = {}, {}
local function note(name, it)
  made[#made + 1] = name
  made[#made + 1] = keep(it)
end
local function age(name)
  ages[#ages + 1] = now
  ages[#ages + 1] = name
end
for _, it in ipairs(order) do
  for _, new in ipairs(it.noted) do
    local grown = (new.kind == '-' and removed or overlaid)(merged[new.name], new)
    if grown or not it.state then
      merged[new.name] = grown or merged[new.name]
      note(new.name, merged[new.name])
      age(new.name)
      it.aged = true
    end
  end
end

-- What is seen.
local function hidden(by, put)
  if not by then return false end
  return by.at > put.time or later(by.seq, by.time, put)
end
local function gone(path, put)
  return put.gone or hidden(merged[field('-', path, ANY)], put)
    or hidden(merged[field('-', path, put.version)], put)
end
local write, drop = {}, {}
for _, it in ipairs(order) do
  local put, text = it.put, it.text
  if put then put.gone = gone(it.path, put) or nil end
  if put and put.gone or not put and merged[field('-', it.path, ANY)] then
    if it.stored then drop[#drop + 1] = it.path end
  elseif put then
    local overlay, row = merged[field('+', it.path, put.version)], it.row
    if overlay and overlay.time > put.time and (text or overlay.time > row.time) then
      local below, at = text or it.stored, text and read(text) or row
      text = overlay.head .. sub(below, at.from, at.to) .. overlay.tail
    end
    if text then
      write[#write + 1] = it.path
      write[#write + 1] = text
    end
  end
  if it.aged or it.text or put and put.gone then note(it.path, {put = put or false}) end
  if it.aged then age(it.path) end
end
each('HSET', rows, write)
each('HDEL', rows, drop)
each('HSET', guard, made)
each('ZADD', aged, ages)
return refused
