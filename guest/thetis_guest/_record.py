"""`Record`: typed fields without the price of dataclasses.

Thirty dataclasses cost 80-140 ms a call, because each compiles its methods; a Record reads its annotations once.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self, dataclass_transform

_COPIED = (list, dict, set)


def _field_names(cls: type) -> tuple[str, ...]:
    own = vars(cls).get("__annotations__")  # set when annotations are strings; cheaper than evaluating them
    if own is None:
        try:
            own = cls.__annotations__ if "__annotations__" in dir(cls) else {}
        except NameError:  # annotations that name something imported for type checkers only
            import annotationlib  # type: ignore[import-not-found]

            own = annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    return tuple(name for name, kind in own.items() if "ClassVar" not in str(kind) and not name.startswith("_"))


@dataclass_transform()
class Record:
    """Base of value objects: `class Point(Record): x: int; y: int = 0`.

    Fields are the annotated names, base classes first; a class attribute is the default (lists, dicts and sets are
    copied for each instance). Positional and keyword arguments, equality by value, `to_dict`, `replace`.
    """

    __fields__: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__fields__ = tuple(dict.fromkeys((*cls.__fields__, *_field_names(cls))))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        fields, mine = self.__fields__, self.__dict__
        if len(args) > len(fields):
            raise TypeError(f"{type(self).__name__} takes {len(fields)} values, {len(args)} given")
        mine.update(zip(fields, args, strict=False))
        for name, value in kwargs.items():
            if name not in fields or name in mine:
                raise TypeError(f"{type(self).__name__}: unexpected or repeated field {name!r}")
            mine[name] = value
        if len(mine) < len(fields):
            for name in fields:
                if name not in mine:
                    try:
                        default = getattr(type(self), name)
                    except AttributeError:
                        raise TypeError(f"{type(self).__name__}: field {name!r} is missing") from None
                    mine[name] = default.copy() if isinstance(default, _COPIED) else default

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *(self.__dict__[name] for name in self.__fields__)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self.__dict__.get(name)!r}" for name in self.__fields__)
        return f"{type(self).__name__}({shown})"

    def to_dict(self) -> dict[str, Any]:
        """The fields in order, records inside lists and dicts included."""
        return {name: _plain(self.__dict__[name]) for name in self.__fields__}

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return type(self)(**{**self.__dict__, **changes})


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
