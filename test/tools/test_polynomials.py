"""The polynomials of the elementary functions are those that tools/polynomials.py makes."""

from __future__ import annotations

import importlib.util
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def polynomials() -> ModuleType:
    spec = importlib.util.spec_from_file_location("polynomials", ROOT / "tools/polynomials.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["polynomials"] = module
    spec.loader.exec_module(module)
    return module


def test_the_coefficients_are_what_the_tool_makes(polynomials: ModuleType) -> None:
    text = polynomials.OUTPUT.read_text()
    assert text == polynomials.module_text(), "run `python tools/polynomials.py`"


def test_an_interpolation_goes_through_its_points(polynomials: ModuleType) -> None:
    points = [Decimal(x) for x in (-2, 1, 3)]
    assert polynomials.interpolated(points, [2 - x + 3 * x * x for x in points]) == [2, -1, 3]


@pytest.mark.parametrize("precision", [24, 53])
def test_an_error_is_seen(polynomials: ModuleType, precision: int) -> None:
    part = polynomials.PARTS[0]
    coefficients, error = polynomials.best(part, precision)
    assert polynomials.error(part, [*coefficients[:-1], coefficients[-1] * 2]) > 16 * error
