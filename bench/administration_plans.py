"""What statements read, as PostgreSQL reports it after running them."""

import json
import re

from psycopg import Error, RawCursor

MANY = 20_000  # rows: what a search reads at most
EXPLAIN = "EXPLAIN (ANALYZE, BUFFERS, FORMAT {}) "


def wide(database, statements):
    """Descriptions of the nodes of plans that read or sort more than `MANY` rows."""
    found = []
    for statement, parameters in statements:
        for [plan] in _explain(database, statement, parameters, "JSON"):
            plan = json.loads(plan) if isinstance(plan, str) else plan
            found += [each for node in _nodes(plan[0]["Plan"]) if (each := _describe(node))]
    return sorted(set(found))


def texts(database, statements):
    """The plans of the slow ones among these statements, for people."""
    for statement, parameters in statements:
        lines = [line for [line] in _explain(database, statement, parameters, "TEXT")]
        took = re.search(r"Execution Time: ([\d.]+)", lines[-1]) if lines else None
        if took and float(took[1]) > 5:
            yield " ".join(statement.split())
            yield from lines


def _explain(database, statement, parameters, form):
    if not re.match(r"\s*(SELECT|WITH)\b", statement):
        return []
    with database.transactional.connect() as connection:
        driver = connection.connection.driver_connection
        cursor = RawCursor(driver) if "$1" in statement else driver.cursor()
        try:
            cursor.execute("SET LOCAL statement_timeout = 60000")
            cursor.execute(EXPLAIN.format(form) + statement, parameters)
            return cursor.fetchall()
        except Error as error:
            return [] if form == "TEXT" else [[[{"Plan": {"Node Type": str(error)}}]]]


def _describe(node):
    """The node, if it reads many rows; None otherwise."""
    kind, loops = node["Node Type"], node.get("Actual Loops", 1)
    rows = node.get("Actual Rows", 0) + node.get("Rows Removed by Filter", 0)
    if kind.endswith("Sort"):
        rows = sum(each["Actual Rows"] * each["Actual Loops"] for each in node["Plans"])
        return f"{kind} {rows:,}" if rows > MANY else None
    if "Scan" not in kind or kind in ("Subquery Scan", "CTE Scan"):
        return None if "Actual Rows" in node else kind
    rows *= loops
    where = node.get("Relation Name", node.get("Index Name", ""))
    return f"{kind} {where} {rows:,.0f}" if rows > MANY else None


def _nodes(plan):
    yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part)
