"""Makes one table of the results of the peers' program."""

from datetime import datetime

OURS = "bench.peers"
MEMORY = "oidc-provider in memory or Redis"
# Column -> the folders that measured it, and words that the rows' names have.
PEERS = {
    "django-oauth-toolkit": (("dot", ""), ("bench.peers.toolkit", "")),
    "django-allauth": (("bench.peers.two_steps", ""),),
    "fastapi-users": (("fau", ""),),
    "Authlib on Flask": (("authlib_peer", ""),),
    "oidc-provider on PostgreSQL": (("oidc", "postgres adapter"),),
    MEMORY: (("oidc", "memory adapter"), ("oidc", "redis adapter")),
}

# What is compared: our row, and words that a peer's row has (the best such row counts).
RATES = {
    "guarded request": ("GET /v1/user", ("GET protected", "GET /users/me")),
    "forward auth": ("forward auth", ()),
    "forward auth with a group": ("forward auth with a group", ()),
    "forward auth with `guard-cache = 1s`": ("forward auth with guard-cache", ()),
    "introspection": ("introspection", ("introspection",)),
    "client credentials": ("client credentials", ("client_credentials",)),
    "refresh": ("refresh", ("refresh_token grant",)),
    "code exchange": ("code exchange", ("code exchange", "authorization_code exchange")),
    "userinfo": ("userinfo", ("userinfo",)),
    "login with a password (bcrypt, cost 12)": ("password at bcrypt cost 12", ("cost 12",)),
    "login with a password and TOTP": ("login with TOTP", ("login with TOTP",)),
}
CACHED = "forward auth with guard-cache"
BARE = "bare JSON view on our server"
BESIDE_BARE = (
    "GET /v1/user",
    "forward auth",
    CACHED,
    "a host's guarded view",
    "a host's guarded view with guard-cache",
    "introspection",
    "login page",
)


MARKS = "<!-- peers: begin -->\n", "<!-- peers: end -->\n"
MOST = 0.15  # cores that other programs may use during a run


def page(run, text):
    """``text`` of docs/performance.md with the table of this run between its two marks.

    Raises SystemExit if the run does not count: incomplete, with wrong answers, or disturbed.
    """
    results, wrong = run["results"], []
    missing = [name for name, (own, _) in RATES.items() if own not in results.get(OURS, {})]
    for part, rows in results.items():
        for name, row in nested(rows):
            if row.get("foreign_cores", 0) > MOST or "error" in row:
                wrong.append(f"{part}: {name}")
    wrong += [own for own, _ in RATES.values() if results[OURS].get(own, {}).get("bad_status")]
    if missing or wrong:
        raise SystemExit(
            f"The page stays as it is. Not measured: {', '.join(missing) or 'none'}. Disturbed or "
            f"with wrong answers: {', '.join(wrong) or 'none'}. Run it again on an idle machine."
        )
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    day = datetime.fromisoformat(run["when"])
    made = [f"One run, {day.day} {day:%B %Y} ({run['machine']}):", "", *plain(results)]
    return before + MARKS[0] + "\n".join(made) + "\n" + MARKS[1] + after


def plain(results):
    """Answers per second alone."""
    yield f"| per second | authsite | {' | '.join(PEERS)} |"
    yield "|---|---|" + "---|" * len(PEERS)
    for name, (own, words) in RATES.items():
        rates = [best(results, peer, words) for peer in PEERS.values()]
        cells = [f"{rate:{form(rate)}}" if rate else "—" for rate in rates]
        ours = results[OURS][own]["rps"]
        yield f"| {name} | **{ours:{form(ours)}}** | {' | '.join(cells)} |"


def form(rate):
    """How a rate is written: logins with a decimal."""
    return ",.0f" if rate >= 100 else ".1f"


def render(run):
    """The run as Markdown: the rates, what they are of others', and the login storms."""
    results, settings = run["results"], run["settings"]
    lines = [
        f"{run['machine']}; wrk -t1 -c{settings['conns']} -d{settings['duration']}s, median of "
        f"{settings['runs']}; {run['when']}",
        "",
        *rates(results),
        "",
        *limits(results),
        "",
        *storms(results),
    ]
    return "\n".join(lines)


def rates(results):
    """Answers per second, with the spread of ours, and our multiple of each peer."""
    yield f"| per second | authsite (all runs) | {' | '.join(PEERS)} |"
    yield "|---|---|" + "---|" * len(PEERS)
    for name, (own, words) in RATES.items():
        if own not in results[OURS]:
            continue
        ours = results[OURS][own]
        cells = [f"{ours['rps']:,g} ({' '.join(f'{rate:,g}' for rate in ours['rps_all'])})"]
        for peer in PEERS.values():
            theirs = best(results, peer, words)
            cells.append(f"{theirs:,g} (× {ours['rps'] / theirs:.2f})" if theirs else "—")
        yield f"| {name} | {' | '.join(cells)} |"


def best(results, peer, words):
    """The best median of a peer's rows that have one of ``words`` in their name."""
    rates = [
        row["rps"]
        for folder, kind in peer
        for name, row in results.get(folder, {}).items()
        if "rps" in row
        and kind in name
        and any(word in name for word in words)
        and not row["bad_status"]
    ]
    return max(rates, default=None)


def limits(results):
    """Our rates beside what this machine can do; rows that were not measured are left out."""
    ours = results[OURS]
    yield "| authsite | per second | beside | per second | ratio |"
    yield "|---|---|---|---|---|"
    beside = [("GET /v1/user", "prototype of a guard"), *((name, BARE) for name in BESIDE_BARE)]
    for name, other in beside:
        if name in ours and other in ours:
            yield ratio(name, ours[name]["rps"], other, ours[other]["rps"])
    cached, memory = ours.get(CACHED), best(results, PEERS[MEMORY], ("introspection",))
    if cached and memory:  # both answer from memory
        yield ratio(CACHED, cached["rps"], "introspection of oidc-provider from memory", memory)
    hashes = results.get("limits", {}).get("bcrypt")
    if hashes and "password at bcrypt cost 12" in ours:
        alone = max(rate for name, rate in hashes.items() if name.endswith("_per_s"))
        login = ours["password at bcrypt cost 12"]["rps"]
        yield ratio("password at bcrypt cost 12", login, "bcrypt alone", alone)


def ratio(name, ours, other, theirs):
    """One row of `limits`."""
    return f"| {name} | {ours:,g} | {other} | {theirs:,g} | {ours / theirs:.2f} |"


def storms(results):
    """Guarded requests on four connections while eight log in."""
    yield "| guarded while others log in | p99 ms alone | p99 ms | of its idle rate | logins/s |"
    yield "|---|---|---|---|---|"
    peers = {folders[0][0]: name for name, folders in PEERS.items()}
    for part, name in {OURS: "authsite", **peers, "limits": "prototype"}.items():
        for row_name, row in nested(results.get(part, {})):
            if "storm" in row:
                alone, storm = row["alone"], row["storm"]
                # The logins begin two seconds before the guards, and end two after them.
                refused = row["login_bad"] / (row["seconds"] + 4)
                yield (
                    f"| {name}: {row_name} | {alone['p99_ms']:g} | {storm['p99_ms']:g} "
                    f"| {storm['rps'] / alone['rps']:.2f} | {row['logins_per_s'] - refused:.1f} |"
                )


def nested(rows, depth=2):
    """(name, row) of all rows, and of groups of rows."""
    for name, row in rows.items():
        if isinstance(row, dict):
            yield name, row
            if depth > 1:
                yield from nested(row, depth - 1)
