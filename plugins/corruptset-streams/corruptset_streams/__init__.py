"""Changing streams as CCC defines them, and schedules: orders over the sets of a data set, for models that adapt while they are tested."""

from __future__ import annotations

from .schedules import Schedule, ScheduleError, Stream, StreamItem, read_schedule, schedule
from .streams import Streamed, stream

__all__ = ["Schedule", "ScheduleError", "Stream", "StreamItem", "Streamed", "read_schedule", "schedule", "stream"]
