"""Confines a process to the files that it needs, by Landlock of the Linux kernel.

    confine(folder)   reads: Python, its packages, the system's libraries, ptxas, nvdisasm      writes: only the folder

The compiler opens no file that a program names. Confinement holds even if ptxas or LLVM, which parse what the program
becomes, can be made to. It also denies TCP, and signals to processes outside.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress

__all__ = ["confine"]

# linux/landlock.h, and the numbers of its system calls, which all architectures share
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE = 1 << 14
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Version of the interface → how many rights on files it knows; later ones as the last."""
_TCP = 0b11
_SCOPES = 0b11
"""Abstract sockets of Unix, and signals."""

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/opt/cuda", "/etc/ld.so.cache", "/etc/localtime")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")


def confine(folder: str) -> bool:
    """Confine this thread, and the threads and processes that it starts from now on. False where the kernel cannot."""
    if not sys.platform.startswith("linux"):
        return False
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    version = call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    if version < 1:
        return False
    rights = (1 << _RIGHTS[min(version, 5)]) - 1
    attributes = struct.pack("=Q", rights)
    if version >= 4:
        attributes += struct.pack("=Q", _TCP)
    if version >= 6:
        attributes += struct.pack("=Q", _SCOPES)
    rules = call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if rules < 0:
        return False
    try:
        for path in _readable():
            _allow(call, rules, path, _EXECUTE | _READ_FILE | _READ_DIR)
        for path in _DEVICES:
            _allow(call, rules, path, _READ_FILE | _WRITE_FILE)
        _allow(call, rules, folder, rights)
        prctl = ctypes.CDLL(None).prctl
        zero = ctypes.c_ulong(0)
        if prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero):
            return False
        return call(_RESTRICT_SELF, rules, ctypes.c_uint32(0)) == 0
    finally:
        os.close(rules)


def _readable() -> Iterable[str]:
    """The folders of Python, of its packages, of the system, and of the tools."""
    from tessera_tools.emit.errors import ToolError
    from tessera_tools.emit.tools import find_tool

    found = {sys.prefix, sys.base_prefix, *_SYSTEM, *(path for path in sys.path if path)}
    for name in ("ptxas", "nvdisasm"):
        with suppress(ToolError):
            found.add(os.path.dirname(os.path.realpath(find_tool(name, option=None, wheel=""))))
    return sorted(found)


def _allow(call: ctypes._NamedFuncPointer, rules: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        attributes = struct.pack("=Qi", rights, descriptor)
        call(_ADD_RULE, rules, ctypes.c_int(_PATH_BENEATH), attributes, ctypes.c_uint32(0))
    finally:
        os.close(descriptor)
