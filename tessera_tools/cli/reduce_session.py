"""One run of `tessera-reduce`, after its options are parsed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tessera_tools.api.inputs import is_binary, kind_of, parse_input
from tessera_tools.bytecode import is_bytecode, read_bytecode, write_bytecode
from tessera_tools.bytecode.version import MAGIC, Version
from tessera_tools.cli.common import INTERRUPTED, progress, read_input, use_color, write_stderr
from tessera_tools.cli.reduce_tests import Test, make_test
from tessera_tools.diagnostics import DiagnosticError, error, sink
from tessera_tools.emit.files import write_output
from tessera_tools.emit.tools import TemporaryFolder
from tessera_tools.ir.core import Operation
from tessera_tools.ir.printing import print_op
from tessera_tools.ir.verifier import verify
from tessera_tools.mlir_bytecode import is_mlir_bytecode, read_mlir_bytecode, write_mlir_bytecode
from tessera_tools.reduce.module import reduce_module
from tessera_tools.reduce.search import Budget, Exhausted
from tessera_tools.reduce.text import reduce_ptx, reduce_text

if TYPE_CHECKING:
    from tessera_tools.cli.command_line import OptionValues

__all__ = ["Session"]

MOST_TESTS, SECONDS, TEST_SECONDS = 5000, 3600.0, 60.0
"""The limits without options."""
_KINDS = {"llvmir": "LLVM IR", "ptx": "PTX"}


class Session:
    """The execution of one command line. `options` are click's."""

    def __init__(self, options: OptionValues) -> None:
        self.options = options
        self.color = use_color(options["color"] or "auto")
        self.best = b""
        self.budget: Budget | None = None
        self.status = 0

    def run(self) -> int:
        """Run it; returns the exit status. Raises DiagnosticError."""
        name, data = read_input(self.options["input"])
        output = self.options["output"] or "-"
        if not data:
            raise error(None, f"'{name}' is empty; there is nothing to reduce")
        ending = os.path.splitext(name)[1] or (
            ".tileirbc" if is_bytecode(data) else ".mlirbc" if is_mlir_bytecode(data) else ".mlir"
        )
        self._check(name, data)
        with TemporaryFolder("tessera-reduce") as folder:
            self.candidate = os.path.join(folder.path, f"candidate{ending}")
            test = make_test(self.options, folder.path, self.options["test_timeout"] or TEST_SECONDS)
            self.best = data
            spent = self._reduce(name, data, test)
            write_output(output, self.best)
        assert self.budget is not None
        write_stderr(
            f"{name}: {_size(data)} reduced to {_size(self.best)}, {self.budget.tests:,} tests"
            + (f" ({spent})" if spent else "")
            + "\n"
        )
        return self.status

    def _check(self, name: str, data: bytes) -> None:
        """Raises DiagnosticError for options that mean nothing for this input."""
        kind = kind_of(name, data)
        if kind == "cubin":
            raise error(
                None, f"'{name}' is a cubin, which has no parts to remove", "reduce its PTX or its program"
            )
        for option in ("text", "keep_unverified"):
            if self.options[option] and is_binary(data):
                what = f"--{option.replace('_', '-')} is for text, and '{name}' is bytecode"
                raise error(None, what, f"tessera-opt '{name}' -o program.mlir makes text of it")
        if self.options["keep_unverified"] and kind != "mlir":
            raise error(
                None, f"--keep-unverified is for MLIR, whose verifier it omits; '{name}' is {_KINDS[kind]}"
            )
        if self.options["fails"] == "wrong-result" and kind != "mlir" and not self.options["reference"]:
            raise error(
                None,
                f"--fails=wrong-result of {_KINDS[kind]} needs --reference=COMMAND",
                "the default reference compiles a program in another way; the code of this one does not change",
            )

    def _reduce(self, name: str, data: bytes, test: Test) -> str:
        """Reduce `data` into `best`; returns why the search ended early, or nothing."""
        self._place(data)
        with sink(lambda _: None):  # warnings of candidates are of no interest
            reason = test.start(self.candidate)
            write_stderr(f"{name}: {reason}\n")
            self.budget = budget = Budget(
                lambda candidate: self._fails(candidate, test),
                most=self.options["max_tests"] or MOST_TESTS,
                seconds=self.options["time_limit"] or SECONDS,
                better=self._better,
            )
            try:
                with progress(lambda: f"{budget.tests} tests, {_size(self.best)}"):
                    self._search(name, data, budget)
            except Exhausted:
                return "the limit is reached; the result is not the smallest"
            except KeyboardInterrupt:
                self.status = INTERRUPTED
                return "interrupted; the result is not the smallest"
        return ""

    def _search(self, name: str, data: bytes, budget: Budget) -> None:
        if is_bytecode(data):
            version = Version(*data[len(MAGIC) : len(MAGIC) + 2])
            reduce_module(read_bytecode(data, name), lambda op: write_bytecode(op, version), budget)
            return
        if is_mlir_bytecode(data):
            reduce_module(
                read_mlir_bytecode(data, name, allow_unregistered=True), write_mlir_bytecode, budget
            )
            return
        kind = kind_of(name, data)
        text = data.decode("utf-8", "surrogateescape")
        if kind == "ptx" and not self.options["text"]:
            reduce_ptx(text, budget)
            return
        module = None if self.options["text"] or kind != "mlir" else self._module(name, data)
        if module is None:
            reduce_text(text, budget)
            return
        if not budget.interesting(_text(module)):
            write_stderr(f"{name}: the failure depends on the text; it is reduced as text\n")
            reduce_text(text, budget)
            return
        reduce_module(module, _text, budget, unverified=self.options["keep_unverified"])

    def _module(self, name: str, data: bytes) -> Operation | None:
        """The module of the input; None if it does not parse or verify, as when this is the failure."""
        try:
            module = parse_input(data, name, allow_unregistered=True)
            return module if self.options["keep_unverified"] or not verify(module) else None
        except DiagnosticError:
            return None
        except Exception:  # a fault of the parser is a failure that may be reduced
            return None

    def _place(self, data: bytes) -> None:
        with open(self.candidate, "wb") as file:
            file.write(data)

    def _fails(self, data: bytes, test: Test) -> bool:
        self._place(data)
        return test.fails(self.candidate)

    def _better(self, data: bytes) -> None:
        self.best = data


def _text(module: Operation) -> bytes:
    return print_op(module).encode("utf-8", "surrogateescape")


def _size(data: bytes) -> str:
    if is_binary(data):
        return f"{len(data):,} bytes"
    lines = data.count(b"\n")
    return f"{lines:,} lines" if lines > 1 else f"{len(data):,} bytes"
