"""A column of half-precision vectors: ``halfvec`` under PostgreSQL (pgvector), little-endian bytes under SQLite."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

Vector = NDArray[np.float32]
Halves = NDArray[np.float16]


class HalfVector(sa.types.TypeDecorator[Vector]):
    """Stores a float32 vector as float16; gives float32. The dimension is the model's, not the column's."""

    impl = sa.LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        """Use pgvector's type where there is one."""
        if dialect.name == "postgresql":
            from pgvector.sqlalchemy import HALFVEC  # noqa: PLC0415 - an optional package

            return dialect.type_descriptor(HALFVEC())
        return dialect.type_descriptor(sa.LargeBinary())

    def process_bind_param(self, value: Vector | None, dialect: sa.Dialect) -> Any:
        """Give what the driver takes."""
        if value is None:
            return None
        half = np.asarray(value, dtype="<f2")
        return half.tolist() if dialect.name == "postgresql" else half.tobytes()

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Give a float32 vector."""
        if value is None:
            return None
        if dialect.name == "postgresql":
            return np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value, dtype=np.float32)
        return np.frombuffer(value, dtype="<f2").astype(np.float32)


class _Sent(sa.types.TypeDecorator[Vector]):
    """What ``half_bytes`` gives, as a float32 vector."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Read little-endian halves; PostgreSQL sends the dimension and an unused number, then big-endian ones."""
        if value is None:
            return None
        if dialect.name == "postgresql":
            return np.frombuffer(value, dtype=">f2", offset=_SENT_BEFORE).astype(np.float32)
        return np.frombuffer(value, dtype="<f2").astype(np.float32)


_SENT_BEFORE = 4
"""Bytes before the numbers: two int16 (pgvector, ``halfvec_send``)."""


class half_bytes(FunctionElement[Any]):  # noqa: N801 - a function of SQL
    """A column of half vectors as bytes. PostgreSQL would send each as text: reading a text takes ten times as long."""

    type: sa.types.TypeEngine[Any] = _Sent()
    inherit_cache = True


@compiles(half_bytes)
def _as_stored(element: Any, compiler: Any, **more: Any) -> str:
    return str(compiler.process(element.clauses.clauses[0], **more))


@compiles(half_bytes, "postgresql")
def _as_sent(element: Any, compiler: Any, **more: Any) -> str:
    return f"halfvec_send({_as_stored(element, compiler, **more)})"


class sent_bytes(half_bytes):  # noqa: N801 - a function of SQL
    """A column of half vectors as bytes, which many rows together are made of (`halves`)."""

    type = sa.LargeBinary()
    inherit_cache = True


def halves(sent: Sequence[bytes], dialect: str) -> Halves:
    """Give vectors of one length as rows, from what `sent_bytes` gave of them: as they are stored, in one go."""
    if not sent:
        return np.zeros((0, 0), np.float16)
    rows = np.frombuffer(b"".join(sent), np.uint8).reshape(len(sent), -1)
    if dialect == "postgresql":
        return np.ascontiguousarray(rows[:, _SENT_BEFORE:]).view(">f2").astype(np.float16)
    return rows.view("<f2").astype(np.float16)
