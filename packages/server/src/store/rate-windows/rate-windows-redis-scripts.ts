/** Lua scripts of the shared rate windows. KEYS: times, counts. ARGV: limit, then now in ms or '' for Redis' clock. */
import { limits } from "@countersign/contract";

const window_ms = limits.rate_window_seconds * 1000;

/**
 * Sets `now` and `n`. Deletes a wrong log: Redis evicted one half, or it is more than a window ahead of the clock.
 * Drops expired requests. `%.0f`, because Lua writes large numbers as 1.76e+12.
 */
const advance = `
local times, counts, limit = KEYS[1], KEYS[2], tonumber(ARGV[1])
local now = tonumber(ARGV[2])
if not now then
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end
local clock = now
local newest = tonumber(redis.call('LINDEX', times, -1) or 0)
local n = tonumber(redis.call('HGET', counts, 'n') or 0)
-- None of its entries would expire before the clock catches up, so callers would be refused for hours.
if newest > now + ${window_ms} or (newest == 0) ~= (n == 0) then
  redis.call('DEL', times, counts)
  newest, n = 0, 0
end
if newest > now then now = newest end

local function dropAged()
  local first = redis.call('LINDEX', times, 0)
  if not first or (tonumber(first) > now - ${window_ms} and redis.call('HGET', counts, first) ~= '0') then return end
  while true do
    local chunk = redis.call('LRANGE', times, 0, 99)
    if #chunk == 0 then return end
    local held = redis.call('HMGET', counts, unpack(chunk))
    local dropped = 0
    for i, at in ipairs(chunk) do
      local count = tonumber(held[i] or 0)
      if tonumber(at) > now - ${window_ms} and count > 0 then break end
      n = n - count
      dropped = i
    end
    if dropped == 0 then return end
    redis.call('LTRIM', times, dropped, -1)
    redis.call('HDEL', counts, unpack(chunk, 1, dropped))
    redis.call('HSET', counts, 'n', n)
    if dropped < #chunk then return end
  end
end
dropAged()

-- The time of the request whose expiry frees capacity: the oldest, or a later one if the limit was lowered.
local function freeing()
  local needed, from = n - limit + 1, 0
  if needed <= 1 then return tonumber(redis.call('LINDEX', times, 0) or now) end
  while true do
    local chunk = redis.call('LRANGE', times, from, from + 99)
    if #chunk == 0 then return now end
    local held = redis.call('HMGET', counts, unpack(chunk))
    for i, at in ipairs(chunk) do
      needed = needed - tonumber(held[i] or 0)
      if needed <= 0 then return tonumber(at) end
    end
    from = from + 100
  end
end
`;

/**
 * Counts a request if fewer than `limit` are counted. `allowed` is -1 after the deadline ARGV[3] ('': none). Returns
 * {allowed, counted, freeing_ms, at_ms, now_ms}.
 */
export const take_script = `${advance}
if clock > (tonumber(ARGV[3]) or clock) then return {-1, n, freeing(), now, now} end
local allowed = 0
if n < limit then
  allowed = 1
  n = n + 1
  local at = string.format('%.0f', now)
  redis.call('HINCRBY', counts, at, 1)
  if redis.call('LINDEX', times, -1) ~= at then redis.call('RPUSH', times, at) end
  redis.call('HSET', counts, 'n', n)
  redis.call('PEXPIRE', times, ${window_ms + 1_000})
  redis.call('PEXPIRE', counts, ${window_ms + 1_000})
end
return {allowed, n, freeing(), now, now}
`;

export const look_script = `${advance}
return {n < limit and 1 or 0, n, freeing(), now, now}
`;

/** Removes one request counted at ARGV[3], unless it has expired. */
export const refund_script = `${advance}
local at = ARGV[3]
if tonumber(redis.call('HGET', counts, at) or 0) > 0 then
  n = n - 1
  redis.call('HINCRBY', counts, at, -1)
  redis.call('HSET', counts, 'n', n)
  dropAged()
end
return {1, n, freeing(), tonumber(at), now}
`;
