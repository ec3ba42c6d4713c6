"""Arrow values as canonical JSON text and back: the form in which implementations are compared.

The text is made column by column from Arrow's own integers, never through Python's datetime,
which knows neither nanoseconds nor all years.
"""

import datetime
import decimal
import json

import numpy as np
import pyarrow as pa
from pypaimon.data.generic_variant import GenericVariant
from pypaimon.schema.data_types import PyarrowFieldParser, is_variant_struct

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_MILLIS_OF_DAY = 86_400_000


def lines(table):
    """One JSON object per row, sorted by the UTF-8 bytes."""
    columns = [texts(c.combine_chunks()) for c in table.columns]
    heads = [quote(name) + ":" for name in table.schema.names]
    rows = ("{" + ",".join(map(str.__add__, heads, row)) + "}" for row in zip(*columns))
    return sorted(rows, key=str.encode)


def texts(a):
    """The text of each value of an array."""
    if isinstance(a, pa.ChunkedArray):
        return [text for chunk in a.chunks for text in texts(chunk)]
    return [text if valid else "null" for text, valid in zip(_texts(a), a.is_valid().to_pylist())]


def _texts(a):
    t = a.type
    if pa.types.is_boolean(t):
        return ["true" if v else "false" for v in a.to_pylist()]
    if pa.types.is_integer(t):
        return [str(v) for v in a.to_pylist()]
    if pa.types.is_floating(t):
        return [number(v, np.float32 if t.bit_width == 32 else np.float64) for v in a.to_pylist()]
    if pa.types.is_decimal(t):
        return [quote(format(v, "f")) if v is not None else "" for v in a.to_pylist()]
    if pa.types.is_string(t) or pa.types.is_large_string(t):
        return [quote(v) if v is not None else "" for v in a.to_pylist()]
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t):
        return [f'"hex:{v.hex()}"' if v is not None else "" for v in a.to_pylist()]
    if pa.types.is_date32(t):
        return [quote(date(v)) for v in _integers(a, pa.int32())]
    if pa.types.is_time32(t):
        return [quote(time_of_day(v * 1000 // _PER_SECOND[t.unit])) for v in _integers(a, pa.int32())]
    if pa.types.is_timestamp(t):
        zone = "Z" if t.tz else ""
        return [quote(timestamp(v, _PER_SECOND[t.unit]) + zone) for v in _integers(a, pa.int64())]
    if pa.types.is_map(t):
        return _maps(a)
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return _lists(a)
    if pa.types.is_struct(t):
        return _variants(a) if is_variant_struct(t) else _structs(a)
    raise TypeError(f"no canonical form of Arrow type {t}")


def _integers(a, width):
    return [v or 0 for v in a.view(width).to_pylist()]


def _lists(a):
    if pa.types.is_fixed_size_list(a.type):
        size = a.type.list_size
        ends = [(a.offset + i) * size for i in range(len(a) + 1)]
    else:
        ends = a.offsets.to_pylist()
    items = texts(a.values)
    return ["[" + ",".join(items[b:e]) + "]" for b, e in zip(ends, ends[1:])]


def _maps(a):
    ends = a.offsets.to_pylist()
    pairs = [f"[{k},{v}]" for k, v in zip(texts(a.keys), texts(a.items))]
    return ["[" + ",".join(sorted(pairs[b:e], key=str.encode)) + "]" for b, e in zip(ends, ends[1:])]


def _structs(a):
    heads = [quote(f.name) + ":" for f in a.type]
    columns = [texts(a.field(i)) for i in range(a.type.num_fields)]
    return ["{" + ",".join(map(str.__add__, heads, row)) + "}" for row in zip(*columns)]


def _variants(a):
    out = []
    for v in a.to_pylist():
        value = GenericVariant.from_arrow_struct(v).to_python() if v is not None else None
        out.append(quote(json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=_json)))
    return out


def _json(v):
    return float(v) if isinstance(v, decimal.Decimal) else str(v)


def quote(s):
    out = ['"']
    for c in s:
        out.append("\\" + c if c in '"\\' else f"\\u{ord(c):04x}" if c < " " else c)
    return "".join(out) + '"'


def date(days):
    if days + _EPOCH_DAY >= 1:
        try:
            return datetime.date.fromordinal(days + _EPOCH_DAY).isoformat()
        except (OverflowError, ValueError):
            pass
    return str(np.datetime64(days, "D"))


def time_of_day(millis):
    # Values outside the day occur in tables that Java's own tests write.
    if not 0 <= millis < _MILLIS_OF_DAY:
        return f"ms:{millis}"
    return clock(millis // 1000, millis % 1000, 3)


def timestamp(v, per_second):
    seconds, fraction = divmod(v, per_second)
    days, second = divmod(seconds, 86_400)
    return date(days) + "T" + clock(second, fraction, len(str(per_second)) - 1)


def clock(second, fraction, digits):
    text = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return text + f".{fraction:0{digits}d}".rstrip("0") if fraction else text


def number(v, width):
    """The fewest digits that read back: plain from 1e-3 to below 1e7, else d.dE±n."""
    if v is None:
        return ""
    if np.isnan(v):
        return '"NaN"'
    if np.isinf(v):
        return '"Infinity"' if v > 0 else '"-Infinity"'
    if v == 0:
        return "-0.0" if np.signbit(v) else "0.0"
    mantissa, exponent = np.format_float_scientific(width(v), unique=True, trim="0").split("e")
    if not -3 <= int(exponent) < 7:
        return f"{mantissa}E{int(exponent)}"
    whole, _, fraction = format(decimal.Decimal(mantissa).scaleb(int(exponent)), "f").partition(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}"


def values(column, paimon_type):
    """Canonical JSON values of one column as an Arrow array."""
    t = PyarrowFieldParser.from_paimon_type(paimon_type)
    return pa.array([_value(v, t) for v in column], type=t)


def _value(v, t):
    """A canonical value as what Arrow takes for the type."""
    if v is None:
        return None
    if pa.types.is_floating(t):
        return float(v)
    if pa.types.is_decimal(t):
        return decimal.Decimal(v)
    if pa.types.is_binary(t) or pa.types.is_large_binary(t):
        return bytes.fromhex(v[4:]) if v.startswith("hex:") else v.encode()
    if pa.types.is_date32(t):
        return _days(v)
    if pa.types.is_time32(t):
        return _ticks(v, 1_000)
    if pa.types.is_timestamp(t):
        day, clock_text = v.removesuffix("Z").split("T")
        unit = _PER_SECOND[t.unit]
        return _days(day) * 86_400 * unit + _ticks(clock_text, unit)
    if pa.types.is_map(t):
        return [(_value(k, t.key_type), _value(x, t.item_type)) for k, x in v]
    if pa.types.is_list(t) or pa.types.is_fixed_size_list(t):
        return [_value(x, t.value_type) for x in v]
    if pa.types.is_struct(t):
        if is_variant_struct(t):
            variant = GenericVariant.from_python(json.loads(v))
            return {"value": variant.value(), "metadata": variant.metadata()}
        return {f.name: _value(v.get(f.name), f.type) for f in t}
    return v


def _days(text):
    return datetime.date.fromisoformat(text).toordinal() - _EPOCH_DAY


def _ticks(text, per_second):
    """A time of day in units of 1/per_second."""
    hms, _, fraction = text.partition(".")
    h, m, s = (hms.split(":") + ["0"])[:3]
    digits = len(str(per_second)) - 1
    if fraction.rstrip("0")[digits:]:
        raise ValueError(f"{text} is finer than 1/{per_second} s")
    return (int(h) * 3600 + int(m) * 60 + int(s)) * per_second + int(fraction.ljust(digits, "0")[:digits] or 0)
