"""OpenTelemetry span for each request.

Where the spans go is the collector's own configuration (the OTEL_… variables). A span names method, route and status,
and nothing that was asked or answered.
"""

from __future__ import annotations

from typing import Any

from reasoningbank import __version__
from reasoningbank.core.errors import MissingExtra
from reasoningbank_server.answer import App, Receive, Scope, Send


def with_traces(app: App) -> App:
    try:
        from opentelemetry import trace
        from opentelemetry.propagate import extract
    except ImportError as error:
        raise MissingExtra(package="opentelemetry-sdk", extra="otel", purpose="Tracing") from error
    _provide(trace)
    tracer = trace.get_tracer("reasoningbank", __version__)

    async def spanned(scope: Scope, receive: Receive, send: Send) -> None:
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        kind = trace.SpanKind.SERVER
        with tracer.start_as_current_span(scope["method"], context=extract(carrier), kind=kind) as span:

            async def send_and_note(message: Any) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                await send(message)

            span.set_attribute("http.request.method", scope["method"])
            try:
                await app(scope, receive, send_and_note)
            finally:
                route = scope["reasoningbank"].route
                span.update_name(f"{scope['method']} {route}")
                span.set_attribute("http.route", route)

    return spanned


def _provide(trace: Any) -> None:
    """Spans go to the collector unless this process has a provider already."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    provider = TracerProvider(resource=Resource.create({"service.name": "reasoningbank"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
