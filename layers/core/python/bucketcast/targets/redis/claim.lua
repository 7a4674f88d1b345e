-- KEYS: rows, sources. ARGV: bucket, source… The answer: whose each of the buckets is here.
redis.call('HLEN', KEYS[1])  -- before the first write, should it be of another type
local whose = {}
for i = 1, #ARGV, 2 do
  local stored = redis.call('HGET', KEYS[2], ARGV[i])
  if not stored then
    stored = ARGV[i + 1]
    redis.call('HSET', KEYS[2], ARGV[i], stored)
  end
  whose[#whose + 1] = stored
end
return whose
