"""The figures that the structure is judged by: ``make figures`` prints them.

They are counted from the source by `ast` and `tokenize`; the files that a request opens, by a
profiler on a site in memory; the start and the memory, of one `authsite serve`. No figure is a
judgment: a change that makes one worse says why in its commit.
"""

import ast
import io
import re
import signal
import subprocess
import sys
import tempfile
import time
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOP = ROOT / "authsite"
SILENT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
# Words of papers that a reader of the repository does not have.
PAPERS = re.compile(r"\btraps? \d+|test_trial_|test_pages_m\d|test_fourth_|\"\"\"S\d+:|\b9\.5:")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Source:
    """The Python files below a folder, each with its tree."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trees = {path: ast.parse(path.read_text("utf-8")) for path in folder.rglob("*.py")}

    def code_lines(self) -> int:
        """Lines with code: neither blank, nor a comment, nor a docstring."""
        return sum(len(lines_of_code(path, tree)) for path, tree in self.trees.items())

    def import_lines(self) -> int:
        """Lines of import statements, wherever they are."""
        return sum(
            node.end_lineno - node.lineno + 1
            for tree in self.trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
        )

    def small(self) -> int:
        """Files of less than 40 lines, without `__init__.py`."""
        return sum(
            len(path.read_text("utf-8").splitlines()) < 40
            for path in self.trees
            if path.name != "__init__.py"
        )

    def functions(self) -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
        """Every function and method, with its file."""
        for path, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, FUNCTIONS):
                    yield path, node


def docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """The nodes of docstrings, also those below an attribute or a constant."""
    for node in ast.walk(tree):
        body = getattr(node, "body", ())
        for statement in body if isinstance(body, list) else ():
            value = getattr(statement, "value", None) if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value


def lines_of_code(path: Path, tree: ast.AST) -> set[int]:
    """The numbers of the lines of ``path`` that have code."""
    described = {
        number for node in docstrings(tree) for number in range(node.lineno, node.end_lineno + 1)
    }
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
        if token.type not in SILENT:
            found.update(range(token.start[0], token.end[0] + 1))
    return found - described


def is_command(path: Path) -> bool:
    """Whether the module has commands: Click gives their parameters."""
    return not {"cli", "cli.py", "command_line"}.isdisjoint(path.relative_to(TOP).parts)


def many_parameters(source: Source) -> int:
    """Functions with more than five parameters, without commands and without ``self``."""
    return sum(
        len([*args.posonlyargs, *args.args, *args.kwonlyargs])
        - (bool(args.args) and args.args[0].arg in ("self", "cls"))
        > 5
        for path, function in source.functions()
        if not is_command(path)
        for args in (function.args,)
    )


def inner_imports(source: Source) -> int:
    """Import statements inside functions, outside modules of commands."""
    inner = {
        id(node)
        for path, function in source.functions()
        if not is_command(path)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return len(inner)


def recorders(source: Source) -> list[str]:
    """The functions of `platform/audit` to which a caller hands an `Event`."""
    return sorted(
        f"{path.relative_to(TOP)}:{function.name}"
        for path, function in source.functions()
        if path.is_relative_to(TOP / "platform/audit") and not function.name.startswith("_")
        for argument in function.args.args
        if argument.annotation is not None and ast.unparse(argument.annotation) == "Event"
    )


def repeated_names(source: Source) -> dict[str, int]:
    """Names of classes that several modules define, with the number of modules."""
    places: dict[str, set[Path]] = defaultdict(set)
    for path, tree in source.trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].add(path)
    return {name: len(paths) for name, paths in sorted(places.items()) if len(paths) > 1}


def arrows(package: str) -> tuple[int, int]:
    """The entries at the top of a package, and the arrows of imports between them."""
    from tests.test_import_order import edges

    def entry(module: str) -> str:
        return module.removeprefix(f"{package}.").split(".")[0]

    inside = {
        (entry(module), entry(target))
        for module, target in edges()
        if module.startswith(f"{package}.") and target.startswith(f"{package}.")
    }
    folder = TOP / package.replace(".", "/")
    entries = [
        each for each in folder.iterdir() if each.suffix == ".py" or (each / "__init__.py").exists()
    ]
    return len(entries), sum(one != other for one, other in inside)


class Walk:
    """The files of authsite in which functions ran, and the number of calls."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.calls = 0

    def __enter__(self) -> "Walk":
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: object, event: str, _argument: object) -> None:
        if event == "call":
            name = frame.f_code.co_filename
            if name.startswith(str(TOP)):
                self.files.add(name)
                self.calls += 1


def walks() -> dict[str, Walk]:
    """The walks of the requests that the aims name, each the second time that it is made."""
    from tests.support import authorizing, databases
    from tests.support.site import Site, bearer

    with tempfile.TemporaryDirectory() as folder:
        site = Site(
            databases.migrated(f"sqlite:///{folder}/walks.sqlite"),
            limits="on", base_url="http://localhost", openid="on",
        )  # fmt: skip
        site.user()
        keys = site.client()
        headers = bearer(site.login(keys)["access_token"])
        application = authorizing.application(site)
        authorizing.sign_in(site)
        requests = {
            "password login": lambda: site.login(keys),
            "guarded GET": lambda: site.http.get("/v1/user", headers=headers),
            "consent page": lambda: authorizing.authorize(site, application),
        }
        found = {}
        for name, request in requests.items():
            request()
            with Walk() as walk:
                request()
            found[name] = walk
        site.database.dispose()
        return found


def serving_figures() -> tuple[float, list[float]]:
    """Seconds from the start to the first answer, and the memory of each process in MB."""
    import httpx

    from tests.support import databases
    from tests.support.servers import free_port, write_ini

    with tempfile.TemporaryDirectory() as folder:
        ini = write_ini(Path(folder), databases.migrated(f"sqlite:///{folder}/serve.sqlite"))
        port = free_port()
        command = [
            str(Path(sys.executable).with_name("authsite")), "serve", "--config", str(ini),
            "--port", str(port), "--workers", "1",
        ]  # fmt: skip
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while True:
                try:
                    httpx.get(f"http://127.0.0.1:{port}/healthz")
                    break
                except httpx.TransportError:
                    time.sleep(0.01)
            seconds = time.monotonic() - began
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            sizes = [resident(int(each)) for each in (process.pid, *children)]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
    return seconds, sizes


def resident(pid: int) -> float:
    """The resident memory of a process in MB."""
    [size] = re.findall(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(size) / 1000


def figures() -> Iterator[tuple[str, str]]:
    """Each figure with its name."""
    source, tests = Source(TOP), Source(ROOT / "tests")
    code, imports = source.code_lines(), source.import_lines()
    yield "files in authsite/ · under 40 lines", f"{len(source.trees)} · {source.small()}"
    yield "code lines · share of imports", f"{code:,} · {imports / code:.1%}"
    for name, walk in walks().items():
        yield f"files opened, calls: {name}", f"{len(walk.files)}, {walk.calls}"
    yield "functions that record an audit event", str(len(recorders(source)))
    repeated = repeated_names(source)
    yield "names of classes in several modules", f"{len(repeated)} (most: {max(repeated.values())})"
    papers = [
        sum(len(PAPERS.findall(path.read_text("utf-8"))) for path in each.trees)
        for each in (source, tests)
    ]
    yield "references to papers: authsite/ · tests/", f"{papers[0]} · {papers[1]}"
    entries, inside = arrows("oauth")
    yield "oauth: entries at its top · arrows inside", f"{entries} · {inside}"
    yield "functions over 5 parameters", str(many_parameters(source))
    yield "imports inside functions, without commands", str(inner_imports(source))
    seconds, sizes = serving_figures()
    memory = " + ".join(f"{size:.0f}" for size in sizes)
    yield "start to first answer · memory", f"{seconds:.2f} s · {memory} MB"
    yield "code lines of tests", f"{tests.code_lines():,}"
    yield "support files flat", str(len(list((ROOT / "tests/support").glob("*.py"))))


if __name__ == "__main__":
    for name, figure in figures():
        print(f"{name:<48} {figure}", flush=True)
