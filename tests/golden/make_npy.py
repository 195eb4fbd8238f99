#!/usr/bin/env python3
"""Writes npy.txt: files as NumPy writes them, in hexadecimal digits, and what they hold.

A line has, separated by blanks: a name; `exact` where Apsis writes the very same bytes, else `read`; the dtype and shape of the
array; its elements in C order, little-endian (`-` for none); the file.
"""

import io
import pathlib

import ml_dtypes
import numpy as np

NAMES = {"bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
         "uint32": "u32", "uint64": "u64", "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64",
         "complex64": "c64", "complex128": "c128"}
SHAPES = [(), (0,), (3,), (2, 0, 3), (2, 3), (2, 3, 4)]


def values(dtype, shape):
    count = int(np.prod(shape, dtype=np.int64))
    numbers = (np.arange(count) * 7 % 11 - (0 if np.dtype(dtype).kind in "ub" else 5)).reshape(shape)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 0.5j * numbers
    return numbers.astype(dtype)


def file_of(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version) if version else np.save(out, array)
    return out.getvalue()


def line(name, kind, array, file):
    native = np.ascontiguousarray(array).reshape(array.shape).astype(array.dtype.newbyteorder("<"))
    shape = "x".join(str(d) for d in array.shape) or "scalar"
    dtype = NAMES[array.dtype.newbyteorder("=").name]
    return f"{name} {kind} {dtype} {shape} {native.tobytes().hex() or '-'} {file.hex()}"


def main():
    lines = [f"# Made by make_npy.py with NumPy {np.__version__}."]
    for name, short in NAMES.items():
        dtype = ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)
        for shape in SHAPES:
            array = values(dtype, shape)
            lines.append(line(f"{short}-{array.ndim}-{array.size}", "exact", array, file_of(array)))
        fortran = np.asfortranarray(values(dtype, (2, 3, 4)))
        lines.append(line(f"{short}-fortran", "read", fortran, file_of(fortran)))
        if short not in ("bool", "i8", "u8", "bf16"):
            big = values(dtype, (2, 3)).astype(np.dtype(dtype).newbyteorder(">"))
            lines.append(line(f"{short}-big-endian", "read", big, file_of(big)))
    for version in ((2, 0), (3, 0)):
        array = values(np.float64, (2, 3))
        lines.append(line(f"version-{version[0]}", "read", array, file_of(array, version)))
    pathlib.Path(__file__).with_name("npy.txt").write_text("\n".join(lines) + "\n")

    archives = [f"# Made by make_npy.py with NumPy {np.__version__}: arrays a = [1., 2.5], b = [[1, 2, 3]] (int32)."]
    for name, save in (("stored", np.savez), ("compressed", np.savez_compressed)):
        out = io.BytesIO()
        save(out, a=np.array([1.0, 2.5]), b=np.array([[1, 2, 3]], dtype=np.int32))
        archives.append(f"{name} {out.getvalue().hex()}")
    pathlib.Path(__file__).with_name("npz.txt").write_text("\n".join(archives) + "\n")


main()
