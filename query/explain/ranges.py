"""The range of a factor, as its docstring states it: `Range [1 − weight, 1 + weight]`.

Bounds may use the factor's own parameters, + − · * /, min, max and ∞. A factor that states no range, or one
in other words, is taken as unbounded.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
import re
from collections.abc import Callable, Mapping

from recollect.query.catalogue import FACTORS, Parameter

Range = tuple[float, float]

UNBOUNDED: Range = (-math.inf, math.inf)

_STATED = re.compile(r"\bRange [\[(]")
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max}


def range_of(factor: str, parameters: Mapping[str, Parameter]) -> Range:
    """The lowest and the highest value that a factor can have with these parameters."""
    text = " ".join((inspect.getdoc(FACTORS[factor]) or "").split())
    stated = _STATED.search(text)
    if stated is None:
        return UNBOUNDED
    for end in re.finditer(r"[\])]", text[stated.end() :]):
        bounds = _parse(text[stated.end() : stated.end() + end.start()], parameters)
        if bounds is not None:
            return bounds
    return UNBOUNDED


def _parse(text: str, parameters: Mapping[str, Parameter]) -> Range | None:
    numbers: dict[str, float] = {"inf": math.inf}
    numbers.update({n: float(v) for n, v in parameters.items() if isinstance(v, int | float)})
    try:
        tree = ast.parse(text.replace("−", "-").replace("·", "*").replace("∞", "inf"), mode="eval")
        if isinstance(tree.body, ast.Tuple) and len(tree.body.elts) == 2:
            low, high = (_evaluate(part, numbers) for part in tree.body.elts)
            return low, high
    except (SyntaxError, KeyError, ZeroDivisionError):
        pass
    return None


def _evaluate(node: ast.expr, numbers: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            return numbers[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, numbers)
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_evaluate(left, numbers), _evaluate(right, numbers))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name](*(_evaluate(argument, numbers) for argument in args))
        case _:
            raise KeyError(ast.dump(node))
