-- One wrk script for every measurement. The environment says what is sent:
-- BENCH_METHOD, BENCH_PATH, BENCH_BODIES (a file, one body a line), BENCH_TOKENS (a file, one
-- bearer token a line), BENCH_COOKIES (a file, one Cookie header a line), BENCH_REFRESH (a file of refresh tokens: every answer's new one is queued).
local method, path = os.getenv("BENCH_METHOD") or "GET", os.getenv("BENCH_PATH") or "/"
local form = { ["Content-Type"] = "application/x-www-form-urlencoded" }
local requests, at, queue, head, tail, extra = {}, 0, {}, 1, 0, ""

local function lines(name)
  local found = {}
  local file = os.getenv(name)
  if file then
    for line in io.lines(file) do found[#found + 1] = line end
  end
  return found
end

function init(args)
  for _, token in ipairs(lines("BENCH_TOKENS")) do
    requests[#requests + 1] = wrk.format(method, path, { ["Authorization"] = "Bearer " .. token })
  end
  for _, cookie in ipairs(lines("BENCH_COOKIES")) do
    requests[#requests + 1] = wrk.format(method, path, { ["Cookie"] = cookie })
  end
  for _, body in ipairs(lines("BENCH_BODIES")) do
    requests[#requests + 1] = wrk.format(method, path, form, body)
  end
  for _, token in ipairs(lines("BENCH_REFRESH")) do tail = tail + 1; queue[tail] = token end
  extra = os.getenv("BENCH_EXTRA") or ""
  if #requests == 0 then requests[1] = wrk.format(method, path) end
end

function request()
  if tail > 0 then
    local token = "exhausted"
    if head <= tail then token = queue[head]; queue[head] = nil; head = head + 1 end
    return wrk.format("POST", path, form, "grant_type=refresh_token&refresh_token=" .. token .. extra)
  end
  at = at % #requests + 1
  return requests[at]
end

function response(status, headers, body)
  if tail > 0 and status == 200 then
    local token = string.match(body, '"refresh_token": ?"([^"]+)"')
    if token then tail = tail + 1; queue[tail] = token end
  end
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format("REPORT %d %d %d %d %d %d\n", summary.requests, summary.duration, e.status,
    e.connect + e.read + e.write + e.timeout, latency:percentile(50), latency:percentile(99)))
end
