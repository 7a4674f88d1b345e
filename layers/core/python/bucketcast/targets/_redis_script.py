r"""The script that keeps a hash in step with a bucket; `bucketcast.namespace` has the rules.

KEYS: rows, guard, aged. ARGV[1], packed: {puts, overlays, removals, now, forgotten}, each list
flat: (path, text)…, (path, text)…, (path, version, sequencer, time)…; times in s since 1970.

A row is its own guard: sequencer and time are read from its text, which is cut beside its object
and never parsed (Lua would mangle large numbers). A quote inside a JSON string is escaped, so what
stands between bare quotes cannot come from a key. Only a key with a removal or an overlay has a
state, in the guard: {put = {seq, time, version, object, gone}, overlay = {time, head, object,
tail}, removals = how many, shown}. Beside the states stand the removals, each in a field whose
name no bucket can have. A key of the wrong type is met by a read, before the first write.
"""

SCRIPT = """
local rows, guard, aged = KEYS[1], KEYS[2], KEYS[3]
local puts, overlays, removals, now, forgotten = unpack(cmsgpack.unpack(ARGV[1]))
local call, find, sub, match = redis.call, string.find, string.sub, string.match
local keep, load = cmsgpack.pack, cmsgpack.unpack

local function quoted(text, name, from)
  local _, a = find(text, '"' .. name .. '":"', from, true)
  local b = a and find(text, '"', a + 1, true)
  return b and sub(text, a + 1, b - 1)
end
local function padded(s) return s == '' and s or string.rep('0', 32 - #s) .. string.lower(s) end
local function newer(one, other)
  if one.seq ~= '' and other.seq ~= '' and one.seq ~= other.seq then return one.seq > other.seq end
  return one.time > other.time
end
local function order(text)
  local seq = quoted(text, 'sequencer', -250) or quoted(text, 'sequencer', 1)
  return seq and {seq = padded(seq), time = quoted(text, 'eventTime', 1) or ''}
end
local function read(text)
  local cut = order(text)
  local _, a = find(text, '"object":', 1, true)
  local b = a and find(text, '},"source":', a, true)
  if not cut or not b then return nil end
  cut.head, cut.object, cut.tail = sub(text, 1, a), sub(text, a + 1, b - 1), sub(text, b)
  cut.version = quoted(cut.object, 'versionId', 1) or 'null'
  return cut
end
local function field(path, version) return '-' .. #path .. ' ' .. path .. version end
local function state(path)
  local kept = call('HGET', guard, path)
  if kept then return load(kept) end
  local text = call('HGET', rows, path)
  return {put = text and read(text) or nil, removals = 0, shown = text and true}
end
local function hidden(path, it)
  local put = it.put
  if it.removals == 0 then return false end
  if not put or put.gone then return true end
  for _, kept in pairs(call('HMGET', guard, field(path, ''), field(path, put.version))) do
    if kept and newer(load(kept), put) then return true end
  end
  return false
end
local function settle(path, it, text)
  local put, overlay = it.put, it.overlay
  if hidden(path, it) then
    call('HDEL', rows, path)
    it.shown = false
    if put then put.gone, put.object = true, nil end
  elseif overlay and (not put or overlay.time > put.time) then
    call('HSET', rows, path, overlay.head .. (put or overlay).object .. overlay.tail)
    it.shown = true
  elseif text then
    call('HSET', rows, path, text)
    it.shown = true
  end
  if put then put.head, put.tail = nil, nil end
  if it.overlay or it.removals > 0 then
    call('HSET', guard, path, keep(it))
  else
    call('HDEL', guard, path)
  end
end

local old = call('ZRANGEBYSCORE', aged, '-inf', forgotten, 'LIMIT', 0, 1000)
local guarded = call('HLEN', guard) > 0
if #puts > 0 then
  local paths = {}
  for i = 1, #puts, 2 do paths[#paths + 1] = puts[i] end
  local held = call('HMGET', rows, unpack(paths))
  local states = guarded and call('HMGET', guard, unpack(paths))
  local take = {}
  for i = 1, #paths do
    local path, text = paths[i], puts[2 * i]
    if states and states[i] then
      local it, put = load(states[i]), read(text)
      if not it.put or newer(put, it.put) then
        it.put = put
        settle(path, it, text)
      end
    else
      local before = held[i] and order(held[i])
      if not before or newer(order(text), before) then
        take[#take + 1] = path
        take[#take + 1] = text
      end
    end
  end
  if #take > 0 then call('HSET', rows, unpack(take)) end
end
for _, name in ipairs(old) do
  local _, a, length = find(name, '^%-(%d+) ')
  local path = sub(name, a + 1, a + length)
  local kept = call('HGET', guard, path)
  call('ZREM', aged, name)
  call('HDEL', guard, name)
  local it = kept and load(kept)
  if it then
    it.removals = it.removals - 1
    if it.removals > 0 or (it.shown and it.overlay) then
      call('HSET', guard, path, keep(it))
    else
      call('HDEL', guard, path)
    end
  end
end
for i = 1, #removals, 4 do
  local path, version = removals[i], removals[i + 1]
  local it, new = state(path), {seq = removals[i + 2], time = removals[i + 3]}
  local name = field(path, version)
  local kept = call('HGET', guard, name)
  if not kept or newer(new, load(kept)) then
    if not kept then it.removals = it.removals + 1 end
    call('HSET', guard, name, keep(new))
    call('ZADD', aged, now, name)
    settle(path, it)
  end
end
for i = 1, #overlays, 2 do
  local path, new = overlays[i], read(overlays[i + 1])
  local it = state(path)
  if not it.overlay or new.time > it.overlay.time then
    it.overlay = {time = new.time, head = new.head, object = new.object, tail = new.tail}
    settle(path, it)
  end
end
"""
