"""The mutants of a module, and how one is put in the place of the loaded code."""

import ast
import copy
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

Line = tuple[str, int]
Uses = Mapping[str, set[Line]]
"""The lines of functions that name a constant or a field, by name."""

_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.MatMult: ast.Mult,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_UNCHANGED = {"annotation", "returns", "decorator_list", "ctx", "type_ignores", "kind"}
_DEFINED = (ast.FunctionDef, ast.ClassDef)
_ASSIGNED = (ast.Assign, ast.AnnAssign)


@dataclass(frozen=True)
class Mutant:
    """A changed top-level statement of a module, compiled; ``lines`` are those that a test must reach to notice."""

    path: Path
    module: str
    line: int
    change: str
    statement: int
    code: CodeType
    lines: frozenset[Line]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.change}"


def mutants_of(path: Path, module: str, uses: Uses) -> Iterator[Mutant]:
    """Yield the mutants of a module one after the other; ``uses`` are those of all modules."""
    tree = ast.parse(path.read_text("utf-8"))
    for number, top in enumerate(tree.body):
        if isinstance(top, (ast.Import, ast.ImportFrom)):
            continue
        for site, field, index, new, statement in _sites(top, top):
            old = getattr(site, field) if index is None else getattr(site, field)[index]
            _put(site, field, index, new)
            code = compile(ast.fix_missing_locations(ast.Module([top], [])), str(path), "exec")
            _put(site, field, index, old)
            line = getattr(old, "lineno", statement.lineno)
            change = " → ".join((ast.unparse(one) or type(one).__name__).replace("\n", " ") for one in (old, new))
            yield Mutant(
                path,
                module,
                line,
                change,
                number,
                code,
                _needed(path, tree, top, statement=statement, old=old, uses=uses),
            )


def _needed(
    path: Path, tree: ast.Module, top: ast.stmt, *, statement: ast.stmt, old: ast.AST, uses: Uses
) -> frozenset[Line]:
    """Return the lines of the statement; outside functions its module, and what names what it assigns."""
    inside = any(
        statement is part
        for function in ast.walk(top)
        if isinstance(function, ast.FunctionDef)
        for part in ast.walk(function)
    )
    last = getattr(old, "end_lineno", 0) if hasattr(statement, "body") else statement.end_lineno
    if isinstance(statement, ast.FunctionDef):
        last = statement.end_lineno
    if inside:
        return frozenset((str(path), line) for line in range(statement.lineno, (last or statement.lineno) + 1))
    named = {line for name in _assigned(statement) for line in uses[name]}
    return frozenset(named) | frozenset((str(path), line) for line in range(tree.body[-1].end_lineno or 0))


def uses_of(paths: Iterable[Path]) -> Uses:
    """Return the lines of functions that name a constant or field, also by way of another constant."""
    uses: defaultdict[str, set[Line]] = defaultdict(set)
    through: list[tuple[str, str]] = []
    for path in paths:
        for top in ast.parse(path.read_text("utf-8")).body:
            for part in ast.walk(top):
                name = getattr(part, "id", getattr(part, "attr", getattr(part, "arg", None)))
                if isinstance(name, str) and isinstance(top, _ASSIGNED):
                    through.extend((name, assigned) for assigned in _assigned(top))
                elif isinstance(name, str) and hasattr(part, "lineno"):
                    uses[name].add((str(path), part.lineno))
    for _ in range(3):
        for name, assigned in through:
            uses[name] |= uses[assigned]
    return uses


def _assigned(statement: ast.stmt) -> set[str]:
    return {part.id for part in ast.walk(statement) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _sites(node: ast.AST, statement: ast.stmt) -> Iterator[tuple[ast.AST, str, int | None, ast.AST, ast.stmt]]:
    """Yield every place below ``node`` with what may stand there instead, and the statement that it is part of."""
    for field, value in ast.iter_fields(node):
        if field in _UNCHANGED:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or (isinstance(child, ast.keyword) and child.arg == "strict"):
                continue
            inner = child if isinstance(child, ast.stmt) else statement
            for new in _variants(child, field):
                yield node, field, index, ast.copy_location(new, child) if hasattr(child, "lineno") else new, inner
            yield from _sites(child, inner)


def _variants(node: ast.AST, field: str) -> Iterator[ast.AST]:
    if type(node) in _SWAPPED:
        yield _SWAPPED[type(node)]()
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Name(id=name) if field == "func" and name in _CALLS:
            yield ast.Name(_CALLS[name], ast.Load())
    if field in {"test", "ifs", "guard"} and not isinstance(node, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
        yield ast.UnaryOp(ast.Not(), cast("ast.expr", copy.copy(node)))


def _put(site: ast.AST, field: str, index: int | None, new: ast.AST) -> None:
    if index is None:
        setattr(site, field, new)
    else:
        getattr(site, field)[index] = new


def transplant(mutant: Mutant) -> None:
    """Put the mutant in the place of the loaded code, in every module that has imported it."""
    module = sys.modules[mutant.module]
    held = dict(vars(module))
    body = ast.parse(mutant.path.read_text("utf-8")).body
    exec(mutant.code, held)  # noqa: S102 - the project's own code
    if isinstance(body[mutant.statement], _DEFINED):
        _graft(getattr(module, body[mutant.statement].name), held[body[mutant.statement].name])  # type: ignore[attr-defined]
        return
    changed = _assigned(body[mutant.statement])
    for later in body[mutant.statement + 1 :]:
        if isinstance(later, (*_ASSIGNED, ast.FunctionDef)) and changed & _named(later):
            exec(compile(ast.Module([later], []), str(mutant.path), "exec"), held)  # noqa: S102
            if isinstance(later, ast.FunctionDef):
                _graft(getattr(module, later.name), held[later.name])
            else:
                changed |= _assigned(later)
    for name in changed:
        _replace(name, getattr(module, name), held[name])


def _named(statement: ast.stmt) -> set[str]:
    return {part.id for part in ast.walk(statement) if isinstance(part, ast.Name)}


def _replace(name: str, old: Any, new: Any) -> None:
    for module in list(sys.modules.values()):
        if vars(module).get(name) is old:
            setattr(module, name, new)


def _graft(old: Any, new: Any) -> None:
    """Let a function, or the members of a class, do what the new one does."""
    if isinstance(old, type):
        for name, member in vars(new).items():
            if name in vars(old) and not isinstance(member, type):
                _graft(vars(old)[name], member)
                plain = isinstance(member, (bool, int, float, tuple, frozenset, dict))
                if plain and not (name.startswith("__") and name.endswith("__")):
                    setattr(old, name, member)
        return
    if hasattr(old, "cache_clear"):
        old.cache_clear()
    for inner in ("__wrapped__", "__func__", "fget", "func"):
        if hasattr(old, inner) and not isinstance(old, FunctionType):
            _graft(getattr(old, inner), getattr(new, inner))
            return
    if isinstance(old, FunctionType):
        old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
        for name, mine, theirs in zip(
            old.__code__.co_freevars, old.__closure__ or (), new.__closure__ or (), strict=True
        ):
            if name != "__class__":
                mine.cell_contents = theirs.cell_contents
