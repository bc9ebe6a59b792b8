"""A plain function that learns from its own calls: `python examples/remember.py`. Offline, no key.

The first call does not know that the header is missing; the second is told before it begins.
"""

from __future__ import annotations

from reasoningbank import ReasoningBank, current_task, remember


def main() -> None:
    with ReasoningBank.open(":memory:", embedder="hash") as bank:

        @remember(bank)
        def build(task: str, advice: str = "") -> str:
            if "libfoo-dev" not in advice:
                current_task().step("make", "error: foo.h: No such file or directory", ok=False)
                current_task().step("apt install libfoo-dev", "done", ok=True)
            current_task().step("make", "ok", ok=True)
            return f"{task}: {'known' if advice else 'found out'}"

        print(build("build the client"))
        bank.distill()
        print(build("build the client again"))


if __name__ == "__main__":
    main()
