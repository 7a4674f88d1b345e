"""The script that keeps a hash in step with a bucket; `bucketcast.namespace` has the rules.

KEYS: rows, guard, aged. ARGV[1], packed: {puts, overlays, removals, now, forgotten}, each list
flat: (path, text)…, (path, text)…, (path, version, sequencer, time)…; times in s since 1970.

A row is its own guard: sequencer and time are read from its text, which is cut beside its object
and never parsed (Lua would mangle large numbers). A quote inside a JSON string is escaped, so what
stands between bare quotes cannot come from a key. Only a key with a removal or an overlay has a
state, in the guard: {put = {seq, time, version, object, gone}, overlay = {time, head, object,
tail}, removals = how many, shown}. Beside the states stand the removals, each in a field whose
name no bucket can have.

Puts of keys without a state, which are nearly all, are written first. Then old removals are
forgotten, and the rest is read, changed and written in bulk. A key of the wrong type is met by a
read, before the first write.
"""

SCRIPT = """
local rows, guard, aged = KEYS[1], KEYS[2], KEYS[3]
local puts, overlays, removals, now, forgotten = unpack(cmsgpack.unpack(ARGV[1]))
local call, find, sub = redis.call, string.find, string.sub
local keep, load = cmsgpack.pack, cmsgpack.unpack

local function quoted(text, name, from)
  local _, a = find(text, name, from, true)
  local b = a and find(text, '"', a + 1, true)
  return b and sub(text, a + 1, b - 1)
end
local function sequencer(text)
  -- It is near the end of what we write, after much that looks like it.
  local seq = quoted(text, '"sequencer":"', -250) or quoted(text, '"sequencer":"', 1)
  return seq and (seq == '' and seq or string.rep('0', 32 - #seq) .. string.lower(seq))
end
local function time(text) return quoted(text, '"eventTime":"', 1) or '' end
local function newer(one, other)
  if one.seq ~= '' and other.seq ~= '' and one.seq ~= other.seq then return one.seq > other.seq end
  return one.time > other.time
end
local function read(text)
  local cut = {seq = sequencer(text), time = time(text)}
  local _, a = find(text, '"object":', 1, true)
  local b = a and find(text, '},"source":', a, true)
  if not cut.seq or not b then return nil end
  cut.head, cut.object, cut.tail = sub(text, 1, a), sub(text, a + 1, b - 1), sub(text, b)
  cut.version = quoted(cut.object, '"versionId":"', 1) or 'null'
  return cut
end
local function field(path, version) return '-' .. #path .. ' ' .. path .. version end
local function each(command, key, list)
  return #list > 0 and call(command, key, unpack(list)) or {}
end

local old = call('ZRANGEBYSCORE', aged, '-inf', forgotten, 'LIMIT', 0, 1000)
local guarded = call('HLEN', guard) > 0
local stated = {}
if #puts > 0 then
  local paths, take = {}, {}
  for i = 1, #puts, 2 do paths[#paths + 1] = puts[i] end
  local held, states = each('HMGET', rows, paths), guarded and each('HMGET', guard, paths)
  for i = 1, #paths do
    local into = take
    if states and states[i] then
      into = stated
    elseif held[i] then
      local text, before = puts[2 * i], held[i]
      local seq, other = sequencer(text), sequencer(before)
      if other and (seq < other or seq == other and time(text) <= time(before)) then into = nil end
    end
    if into then
      into[#into + 1] = paths[i]
      into[#into + 1] = puts[2 * i]
    end
  end
  each('HSET', rows, take)
end

if #old > 0 then
  for _, name in ipairs(old) do
    local _, a, length = find(name, '^%-(%d+) ')
    local path = sub(name, a + 1, a + length)
    local kept = call('HGET', guard, path)
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
  each('ZREM', aged, old)
  each('HDEL', guard, old)
end

local its, paths, names, hides = {}, {}, {}, {}
local function want(list, step)
  for i = 1, #list, step do
    if not its[list[i]] then
      its[list[i]] = true
      paths[#paths + 1] = list[i]
    end
  end
end
want(stated, 2)
want(removals, 4)
want(overlays, 2)
local held, states = each('HMGET', rows, paths), each('HMGET', guard, paths)
for i = 1, #paths do
  its[paths[i]] = states[i] and load(states[i])
    or {put = held[i] and read(held[i]) or nil, removals = 0, shown = held[i] and true}
end
for i = 1, #stated, 2 do
  local it, put = its[stated[i]], read(stated[i + 1])
  if not it.put or newer(put, it.put) then
    it.put, it.text, it.changed = put, stated[i + 1], true
    names[#names + 1] = field(stated[i], '')
    names[#names + 1] = field(stated[i], put.version)
  end
end
for i = 1, #removals, 4 do names[#names + 1] = field(removals[i], removals[i + 1]) end
local known = each('HMGET', guard, names)
for i = 1, #names do hides[names[i]] = known[i] and load(known[i]) end
for i = 1, #stated, 2 do
  local path, put = stated[i], its[stated[i]].put
  for _, version in ipairs({'', put.version}) do
    local it = hides[field(path, version)]
    if it and newer(it, put) then put.gone = true end
  end
end
local made, ages = {}, {}
for i = 1, #removals, 4 do
  local path, version = removals[i], removals[i + 1]
  local it, new = its[path], {seq = removals[i + 2], time = removals[i + 3]}
  local name, put = field(path, version), it.put
  local before = hides[name]
  if not before or newer(new, before) then
    if not before then it.removals = it.removals + 1 end
    local same = put and (version == '' or version == put.version)
    if same and newer(new, put) then put.gone = true end
    it.changed, hides[name] = true, new
    made[#made + 1] = name
    made[#made + 1] = keep(new)
    ages[#ages + 1] = now
    ages[#ages + 1] = name
  end
end
for i = 1, #overlays, 2 do
  local it, new = its[overlays[i]], read(overlays[i + 1])
  if not it.overlay or new.time > it.overlay.time then
    it.overlay = {time = new.time, head = new.head, object = new.object, tail = new.tail}
    it.changed = true
  end
end
local write, drop, forget = {}, {}, {}
for _, path in ipairs(paths) do
  local it = its[path]
  local put, overlay, text = it.put, it.overlay, it.text
  if it.changed then
    if put and put.gone or not put and it.removals > 0 then
      drop[#drop + 1] = path
      text, it.shown = nil, false
    elseif overlay and (not put or overlay.time > put.time) then
      text = overlay.head .. (put or overlay).object .. overlay.tail
    end
    if text then
      write[#write + 1] = path
      write[#write + 1] = text
      it.shown = true
    end
    if put then
      it.put = {seq = put.seq, time = put.time, version = put.version, gone = put.gone,
                object = not put.gone and put.object or nil}
    end
    it.text, it.changed = nil, nil
    if overlay or it.removals > 0 then
      made[#made + 1] = path
      made[#made + 1] = keep(it)
    else
      forget[#forget + 1] = path
    end
  end
end
each('HSET', rows, write)
each('HDEL', rows, drop)
each('HSET', guard, made)
each('HDEL', guard, forget)
each('ZADD', aged, ages)
"""
