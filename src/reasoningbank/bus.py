"""The bus under the name that programs import: `from reasoningbank.bus import Bus`. A part of `reasoningbank_bus`."""

from reasoningbank_bus import Bus as Bus
