"""How NumPy prints arrays: one case an array, the text with newlines written as \\n."""

import numpy as np

import records

w = records.Writer(__file__, "print.txt", "str(x0) in NumPy, `text printed`; newlines are written as \\n.")
rng = np.random.default_rng(7)
INF, NAN = float("inf"), float("nan")


def case(x):
    x = np.asarray(x)
    w.case("print", {"printed": str(x).replace("\n", "\\n")}, x0=x)


for t in (np.float64, np.float32, np.float16):
    for v in (0.0, -0.0, 1.0, 0.1, -2.5, 1e-4, 9.9e-5, 12345.678, 3.0e4, INF, -INF, NAN, 1 / 3):
        case(t(v))
    for xs in ([], [0.0], [1.0, 2.0], [0.1, -0.25, 3.0], [1.0, 1e-5], [1e-3, 1.0], [1.0, 999.0], [1.0, 1001.0], [0.5, INF],
               [NAN, 1.0, -2.0], [-INF, 0.125], [NAN], [INF, NAN], [1 / 3, 2 / 3, 1e3], [-0.0, 0.0], [60000.0, 1.0],
               [6.1e-5, 6.2e-5], [1.5e-4, 1.25e-4], [0.0, 0.0001]):  # fmt: skip
        case(np.array(xs, t))
    case(rng.standard_normal((3, 4)).astype(t))
    case(rng.standard_normal((2, 2, 3)).astype(t))
    case(rng.standard_normal(30).astype(t))
    case(rng.standard_normal((2, 25)).astype(t))
    case(np.zeros((2, 0, 3), t))
for v in (1e16, 9999999999999998.0, 1e22, 123456789.125, 5e-324, 1.7976931348623157e308, 2.0**53, 1e15):
    case(v)
for xs in ([1e8, 1.0], [99999999.0, 100001.0], [1e300, 1e-300], [5e-324], [1.23456789012345, 2.0], [0.123456785, 0.5],
           [1e10, 2e10], [-1e10, 2.5e10], [1e100, NAN], [1e-100, -INF], [123456.789, 200000.5]):  # fmt: skip
    case(xs)
case(np.arange(1001) / 8)
case(np.arange(1000) / 8)
case(np.arange(2000.0).reshape(40, 50))
case(np.arange(2400.0).reshape(2, 30, 40))
case(np.arange(1200.0).reshape(4, 300))
case(np.arange(1200.0).reshape(300, 4))
for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
    info = np.iinfo(t)
    case(t(7))
    case(np.array([info.min, info.max, 0], t))
    case(np.arange(12).reshape(3, 4).astype(t))
    case(np.arange(60).astype(t))
case(np.arange(-5, 5))
case(np.arange(1500))
case(np.arange(8000).reshape(20, 20, 20))
case(np.zeros((0,), np.int64))
case(np.array(True))
case([True, False])
case([[False, False], [True, True]])
case(rng.standard_normal(40) > 0)
for t in (np.complex128, np.complex64):
    for v in (1 + 2j, 2j, complex(1.5, -0.0), complex(-0.0, 1), 0j, complex(NAN, 1), complex(1, INF), 0.1 - 1e-5j, 1e20 + 1j):
        case(t(v))
    case(np.array([1 + 2j, -3.25 + 0.5j], t))
    case(np.array([[1e-5 + 2j, 1j], [complex(NAN, 1), complex(1, -INF)]], t))
    case((rng.standard_normal((2, 3)) + 1j * rng.standard_normal((2, 3))).astype(t))
w.write()
