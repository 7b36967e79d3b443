"""The JSON file that aclInit may be given: read, or refused as the runtime refuses it.

Models cann/runtime src/acl/aclrt_impl/acl_rt_impl_base.cpp (GetStrFromConfigPath)
and src/acl/common/json_parser.cpp (GetConfigStrFromFile, ParseJson): which file
is taken, with which code and message another one is refused, in that order.
Nothing in a good file changes what the software NPU does.
"""

from __future__ import annotations

import json
import os
import stat
from typing import NoReturn

from labkit.op.contract import Message

__all__ = ["ConfigError", "differs", "read_config"]

INVALID_FILE = 100003
PARSE_FILE = 100006
_INVALID_PARAM = 100000
_MOST_BYTES = 10 * 1024 * 1024
_DEEPEST = 10


class ConfigError(Exception):
    """aclInit takes no such file: `code` is what it returns, `message` what it leaves."""

    def __init__(self, code: int, message: Message) -> None:
        super().__init__(message.text)
        self.code, self.message = code, message


def _refused(code: int, message: str, path: str, reason: str) -> ConfigError:
    """EH0003 and EH0004 say path and reason, an inner EH9999 is a line of text."""
    fields = () if message == "EH9999" else (("path", path), ("reason", reason))
    return ConfigError(code, Message(message, (), f"the config file {path}: {reason}", fields))


def read_config(path: bytes) -> bytes:
    """The content of a config file; none for no path. Raises `ConfigError`."""
    name = os.fsdecode(path)
    if not name:
        return b""
    try:
        with open(os.path.realpath(name, strict=True), "rb", opener=_open_at_once) as file:
            about = os.fstat(file.fileno())
            content = file.read(_MOST_BYTES + 1) if stat.S_ISREG(about.st_mode) else None
    except IsADirectoryError:
        content = None
    except OSError as error:
        raise _refused(INVALID_FILE, "EH0003", name, error.strerror or str(error)) from error
    if content is None:
        raise _refused(INVALID_FILE, "EH9999", name, "it is no regular file")
    if len(content) > _MOST_BYTES:
        raise _refused(INVALID_FILE, "EH9999", name, f"it is larger than {_MOST_BYTES} bytes")
    _refuse_other_than_json(name, content.split(b"\0", 1)[0])
    return content


def differs(path: bytes, first: str) -> ConfigError:
    """The refusal of a file whose content is not that of the first aclInit, from `first`."""
    reason = f"its content differs from that of the first aclInit ({first or 'no file'})"
    return _refused(_INVALID_PARAM, "EH0004", os.fsdecode(path), reason)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait for a writer


def _refuse_other_than_json(name: str, text: bytes) -> None:
    for opening, closing in (b"{}", b"[]"):  # counted as bytes, within strings too
        depth = 0
        for byte in text:
            depth += (byte == opening) - (byte == closing and depth > 0)
            if depth > _DEEPEST:
                raise _refused(PARSE_FILE, "EH9999", name, f"it is nested deeper than {_DEEPEST}")
    if not text:
        return
    try:
        json.loads(text.decode("utf-8-sig"), parse_constant=_no_constant)
    except ValueError as error:
        raise _refused(PARSE_FILE, "EH0004", name, f"it is no JSON: {error}") from error


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")
