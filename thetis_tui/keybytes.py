"""Keys as a terminal sends them to a program, from the names the screen has for them (xterm's sequences).

Pure. Must not know which program reads them.
"""

from __future__ import annotations

LEAVE = "ctrl+right_square_bracket"
"""The one key that a terminal does not get: Ctrl+], as in telnet, leaves it."""
_PLAIN = {
    "enter": "\r", "return": "\r", "tab": "\t", "shift+tab": "\x1b[Z", "backspace": "\x7f", "escape": "\x1b", "space": " ",
    "ctrl+space": "\0", "ctrl+at": "\0", "ctrl+backslash": "\x1c", "ctrl+circumflex_accent": "\x1e", "ctrl+underscore": "\x1f",
    "ctrl+slash": "\x1f", "ctrl+backspace": "\x08", "shift+enter": "\r", "ctrl+enter": "\r", "alt+enter": "\x1b\r",
    "alt+backspace": "\x1b\x7f", "shift+backspace": "\x7f",
}
_CURSOR = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_NUMBERED = {
    "insert": 2, "delete": 3, "pageup": 5, "pagedown": 6,
    **{f"f{n}": code for n, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)},
}
_FIRST = {"f1": "P", "f2": "Q", "f3": "R", "f4": "S"}
_MODIFIERS = {"shift": 1, "alt": 2, "ctrl": 4, "meta": 8, "super": 8}


def key_bytes(key: str, character: str | None, application: bool = False) -> bytes:
    """What `key` sends; `character` is the text it stands for. `application`: as programs on the whole screen want cursor keys.
    b"" for a key no terminal has."""
    if key in _PLAIN:
        return _PLAIN[key].encode()
    *modifiers, name = key.split("+")
    held = sum({_MODIFIERS[one] for one in modifiers if one in _MODIFIERS})
    if name in _CURSOR:
        if held:
            return f"\x1b[1;{held + 1}{_CURSOR[name]}".encode()
        return f"\x1b{'O' if application else '['}{_CURSOR[name]}".encode()
    if name in _FIRST:
        return (f"\x1b[1;{held + 1}{_FIRST[name]}" if held else f"\x1bO{_FIRST[name]}").encode()
    if name in _NUMBERED:
        return (f"\x1b[{_NUMBERED[name]};{held + 1}~" if held else f"\x1b[{_NUMBERED[name]}~").encode()
    if held & _MODIFIERS["ctrl"] and len(name) == 1 and name.isascii() and name.isalpha():
        control = chr(ord(name.lower()) & 31)
        return (f"\x1b{control}" if held & _MODIFIERS["alt"] else control).encode()
    if held & _MODIFIERS["alt"] and len(name) == 1:
        return f"\x1b{name.upper() if held & 1 else name}".encode()
    if character and not held & ~1 and character.isprintable():
        return character.encode("utf-8", "replace")
    return b""


def pasted(text: str, bracketed: bool) -> bytes:
    """A paste as a terminal sends it; what would end it early is taken out of it."""
    clean = text.replace("\x1b", "").replace("\r\n", "\r").replace("\n", "\r").encode("utf-8", "replace")
    return b"\x1b[200~" + clean + b"\x1b[201~" if bracketed else clean
