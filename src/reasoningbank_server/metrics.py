"""Metrics in the text format of Prometheus.

Labels are routes and statuses, never a tenant, a name or an id: what is counted is the server, not its users.
"""

from __future__ import annotations

import sys
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_MOST_SERIES = 2_000


class Metrics:
    def __init__(self, gauges: Mapping[str, tuple[str, Callable[[], float]]], ends: Counter[str]) -> None:
        """`gauges` by name: what each says, and how to read it now. `ends`: how jobs ended here, counted elsewhere."""
        self._ends = ends
        self._gauges = dict(gauges)
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._durations: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._refused: Counter[str] = Counter()
        self._started_at = time.time()
        self.in_flight = 0

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        if len(self._requests) < _MOST_SERIES:
            self._requests[method, route, status] += 1
        counts = self._durations.get(route)
        if counts is None:
            counts = self._durations[route] = [0] * (len(BUCKETS_S) + 1)
        counts[bisect_left(BUCKETS_S, seconds)] += 1
        self._seconds[route] += seconds

    def refused(self, code: str) -> None:
        self._refused[code] += 1

    def gauge_values(self) -> dict[str, float]:
        """The present value of each gauge. Not on the event loop: some of them ask the bank."""
        return {name: read() for name, (_, read) in self._gauges.items()}

    def text(self, *, jobs_waiting: int, gauges: Mapping[str, float]) -> str:
        lines = [
            *_head("reasoningbank_requests_total", "counter", "Requests answered."),
            *(
                f'reasoningbank_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'
                for (method, route, status), count in sorted(self._requests.items())
            ),
            *_head("reasoningbank_refused_total", "counter", "Requests refused, by the code of the problem."),
            *(f'reasoningbank_refused_total{{code="{code}"}} {count}' for code, count in sorted(self._refused.items())),
            *_head("reasoningbank_request_seconds", "histogram", "How long an answer took."),
            *self._histograms(),
            *_head("reasoningbank_requests_in_flight", "gauge", "Requests being answered now."),
            f"reasoningbank_requests_in_flight {self.in_flight}",
            *_head("reasoningbank_jobs_waiting", "gauge", "Sessions that wait to be distilled or are in hand, of all."),
            f"reasoningbank_jobs_waiting {jobs_waiting}",
            *_head("reasoningbank_jobs_total", "counter", "Attempts of this server to distil a session, by their end."),
            *(f'reasoningbank_jobs_total{{end="{end}"}} {count}' for end, count in sorted(self._ends.items())),
        ]
        for name, (about, _) in self._gauges.items():
            lines += [*_head(name, "gauge", about), f"{name} {gauges[name]:g}"]
        lines += [
            *_head("process_cpu_seconds_total", "counter", "Processor time of this process."),
            f"process_cpu_seconds_total {time.process_time():.3f}",
            *_memory(),
            *_head("process_start_time_seconds", "gauge", "When this process started."),
            f"process_start_time_seconds {self._started_at:.3f}",
        ]
        return "\n".join(lines) + "\n"

    def _histograms(self) -> list[str]:
        lines = []
        for route, counts in sorted(self._durations.items()):
            below = 0
            for limit, count in zip((*(f"{s:g}" for s in BUCKETS_S), "+Inf"), counts, strict=True):
                below += count
                lines.append(f'reasoningbank_request_seconds_bucket{{route="{route}",le="{limit}"}} {below}')
            lines.append(f'reasoningbank_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
            lines.append(f'reasoningbank_request_seconds_count{{route="{route}"}} {below}')
        return lines


def _head(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _memory() -> list[str]:
    try:
        import resource
    except ImportError:
        # Not on every system.
        return []
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    name = "process_resident_memory_max_bytes"
    return [*_head(name, "gauge", "The most memory that this process held."), f"{name} {size}"]
