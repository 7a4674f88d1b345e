-- KEYS: rows, sources. ARGV: bucket, source… The answer: whose each of the buckets is here.
redis.call('HLEN', KEYS[1])  -- before the first write, should it be of another type
local whose = {}
for i = 1, #ARGV, 2 do
  local held = redis.call('HGET', KEYS[2], ARGV[i])
  if not held then
    held = ARGV[i + 1]
    redis.call('HSET', KEYS[2], ARGV[i], held)
  end
  whose[#whose + 1] = held
end
return whose
