"""Makes one table of the results of the peers' program."""

OURS = "bench.peers"
PEERS = {
    "dot": "django-oauth-toolkit",
    "fau": "fastapi-users",
    "authlib_peer": "Authlib",
    "oidc": "oidc-provider",
}

# What is compared: our row, and words that a peer's row has (the best such row counts). Tokens that
# are answered from memory are compared with introspection, which oidc-provider answers from memory.
RATES = {
    "guarded request": ("GET /v1/user", ("GET protected", "GET /users/me")),
    "forward auth": ("forward auth", ()),
    "forward auth with guard-cache": ("forward auth with guard-cache", ("introspection",)),
    "introspection": ("introspection", ("introspection",)),
    "client credentials": ("client credentials", ("client_credentials",)),
    "refresh": ("refresh", ("refresh_token grant",)),
    "password at bcrypt cost 12": ("password at bcrypt cost 12", ("cost 12",)),
}
BARE = "bare JSON view on our server"
BESIDE_BARE = (
    "GET /v1/user",
    "forward auth",
    "forward auth with guard-cache",
    "a host's guarded view",
    "a host's guarded view with guard-cache",
    "introspection",
    "login page",
)


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
    yield f"| per second | authsite (all runs) | {' | '.join(PEERS.values())} |"
    yield "|---|---|" + "---|" * len(PEERS)
    for name, (own, words) in RATES.items():
        if own not in results[OURS]:
            continue
        ours = results[OURS][own]
        cells = [f"{ours['rps']:,g} ({' '.join(f'{rate:,g}' for rate in ours['rps_all'])})"]
        for peer in PEERS:
            theirs = best(results.get(peer, {}), words)
            cells.append(f"{theirs:,g} (× {ours['rps'] / theirs:.2f})" if theirs else "–")
        yield f"| {name} | {' | '.join(cells)} |"


def best(rows, words):
    """The best median of a peer's rows that have one of ``words`` in their name."""
    rates = [
        row["rps"]
        for name, row in rows.items()
        if "rps" in row and any(word in name for word in words) and not row["bad_status"]
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
    for part, name in {OURS: "authsite", **PEERS, "limits": "prototype"}.items():
        for row_name, row in nested(results.get(part, {})):
            if "storm" in row:
                alone, storm = row["alone"], row["storm"]
                yield (
                    f"| {name}: {row_name} | {alone['p99_ms']:g} | {storm['p99_ms']:g} "
                    f"| {storm['rps'] / alone['rps']:.2f} | {row['logins_per_s']:g} |"
                )


def nested(rows, depth=2):
    """(name, row) of all rows, and of groups of rows."""
    for name, row in rows.items():
        if isinstance(row, dict):
            yield name, row
            if depth > 1:
                yield from nested(row, depth - 1)
