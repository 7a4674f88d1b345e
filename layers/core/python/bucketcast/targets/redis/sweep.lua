-- Delete up to ARGV[2] fields of the guard, at most 1,000, that are as old as ARGV[1] (s since 1970);
-- return their number. KEYS: guard, aged. What another batch renews meanwhile is not deleted.
local expired = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
if #expired > 0 then
  redis.call('HDEL', KEYS[1], unpack(expired))
  redis.call('ZREM', KEYS[2], unpack(expired))
end
return #expired
