#!/usr/bin/env python3
"""Writes events.txt: TensorBoard's files of events as TensorBoard's own classes write them, one event a line.

A line has, separated by blanks: the seconds since 1970; what it is (`version`, `scalars`, `restart`); the step; name=value
pairs, of f64; and the frame in hexadecimal digits.
"""

import io
import pathlib

import tensorboard
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter


def frame(event):
    out = io.BytesIO()
    RecordWriter(out).write(event.SerializeToString())
    return out.getvalue().hex()


def main():
    lines = [f"# Made by make_events.py with tensorboard {tensorboard.__version__}."]
    seconds = 1764086400.25
    lines.append(f"{seconds!r} version 0 {frame(event_pb2.Event(wall_time=seconds, file_version='brain.Event:2'))}")
    for step, metrics in [(0, {"loss": 0.5}), (1, {"loss": 0.1, "train/accuracy": 0.875}), (127, {}), (128, {"größe": -3e38}),
                          (2**40, {"m" * 150: float("inf"), "zero": 0.0})]:
        values = [summary_pb2.Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        event = event_pb2.Event(wall_time=seconds, step=step, summary=summary_pb2.Summary(value=values))
        pairs = "".join(f" {name}={value!r}" for name, value in metrics.items())
        lines.append(f"{seconds!r} scalars {step}{pairs} {frame(event)}")
    for step in (0, 300):
        log = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
        lines.append(f"{seconds!r} restart {step} {frame(event_pb2.Event(wall_time=seconds, step=step, session_log=log))}")
    pathlib.Path(__file__).with_name("events.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
