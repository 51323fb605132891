"""Windows shortcut files, written without Windows: the parts of [MS-SHLLINK] that a start menu entry needs.

https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-shllink/ (all numbers little-endian)
"""

import struct
import uuid
from pathlib import PurePath, PureWindowsPath

LINK_CLASS = uuid.UUID("00021401-0000-0000-C000-000000000046")
MY_COMPUTER = uuid.UUID("20D04FE0-3AEA-1069-A2D8-08002B30309D")
APP_USER_MODEL = uuid.UUID("9F4C2855-9F79-4B39-A8D0-E1D42DE1D5F3")
APP_USER_MODEL_ID = 5  # System.AppUserModel.ID in propkey.h

HAS_ID_LIST, HAS_LINK_INFO, HAS_NAME, HAS_WORKING_DIRECTORY = 0x01, 0x02, 0x04, 0x10
HAS_ARGUMENTS, HAS_ICON, IS_UNICODE = 0x20, 0x40, 0x80
ARCHIVE, DIRECTORY = 0x20, 0x10
SHOW_NORMAL = 1
DRIVE_FIXED = 3
VT_LPWSTR = 0x1F


def shortcut(target: PureWindowsPath, arguments: str, description: str, icon: PurePath, app_id: str) -> bytes:
    """A .lnk file that starts `target` (an absolute path on a lettered drive) in the folder it lies in."""
    flags = HAS_ID_LIST | HAS_LINK_INFO | HAS_NAME | HAS_WORKING_DIRECTORY | HAS_ARGUMENTS | HAS_ICON | IS_UNICODE
    header = struct.pack("<I16sII24xIiIHHII", 0x4C, LINK_CLASS.bytes_le, flags, ARCHIVE, 0, 0, SHOW_NORMAL, 0, 0, 0, 0)
    strings = (description, str(target.parent), arguments, str(icon))  # the order is the specification's
    return (
        header
        + _id_list(target)
        + _link_info(target)
        + b"".join(_prefix_length(text) for text in strings)
        + _property_store(app_id)
        + struct.pack("<I", 0)
    )


def _id_list(target: PureWindowsPath) -> bytes:
    """LinkTargetIDList: computer, drive, each folder, the file."""
    drive, *folders, file = target.parts
    items = [b"\x1f\x50" + MY_COMPUTER.bytes_le, b"\x2f" + drive.encode("ascii").ljust(22, b"\0")]
    items += [_path_item(name, 0x31, DIRECTORY) for name in folders]
    items.append(_path_item(file, 0x32, ARCHIVE))
    body = b"".join(struct.pack("<H", 2 + len(item)) + item for item in items) + b"\0\0"
    return struct.pack("<H", len(body)) + body


def _path_item(name: str, kind: int, attributes: int) -> bytes:
    """A file or folder in a shell item list: a short name for old readers, then block 0xBEEF0004 with the real one."""
    short = name.encode("ascii", "replace") + b"\0"
    short += b"\0" * (len(short) % 2)
    start = struct.pack("<BBIIH", kind, 0, 0, 0, attributes) + short
    long = _zero_ended(name)
    size = 20 + len(long) + 2
    # The block ends with its own offset, counted from the item's size field.
    block = struct.pack("<HHIIIHH", size, 3, 0xBEEF0004, 0, 0, 0x14, 0) + long + struct.pack("<H", 2 + len(start))
    return start + block


def _link_info(target: PureWindowsPath) -> bytes:
    """LinkInfo with the local path twice, in the old code page and in Unicode."""
    volume = struct.pack("<IIII", 0x11, DRIVE_FIXED, 0, 0x10) + b"\0"
    path = str(target).encode("ascii", "replace") + b"\0"
    wide = _zero_ended(str(target))
    at_volume = 0x24
    at_path = at_volume + len(volume)
    at_suffix = at_path + len(path)
    at_wide = at_suffix + 1
    at_wide_suffix = at_wide + len(wide)
    size = at_wide_suffix + 2
    head = struct.pack("<9I", size, 0x24, 1, at_volume, at_path, 0, at_suffix, at_wide, at_wide_suffix)
    return head + volume + path + b"\0" + wide + b"\0\0"


def _property_store(app_id: str) -> bytes:
    """PropertyStoreDataBlock holding System.AppUserModel.ID: what makes a pinned button and the window one."""
    text = _zero_ended(app_id)
    value = struct.pack("<HHI", VT_LPWSTR, 0, len(text) // 2) + text + b"\0" * (-len(text) % 4)
    entry = struct.pack("<IIB", 9 + len(value), APP_USER_MODEL_ID, 0) + value
    storage = b"1SPS" + APP_USER_MODEL.bytes_le + entry + struct.pack("<I", 0)
    storage = struct.pack("<I", 4 + len(storage)) + storage + struct.pack("<I", 0)
    return struct.pack("<II", 8 + len(storage), 0xA0000009) + storage


def _prefix_length(text: str) -> bytes:
    wide = text.encode("utf-16-le")
    return struct.pack("<H", len(wide) // 2) + wide


def _zero_ended(text: str) -> bytes:
    return text.encode("utf-16-le") + b"\0\0"
