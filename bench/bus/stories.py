"""Stories of networks, for the law that all agree in the end: what happens, in an order that Hypothesis finds."""

from __future__ import annotations

from hypothesis import strategies as st

from bench.bus.simulator import Simulation, Weather
from reasoningbank_bus.wire.entry import entry_id

HOSTS = 4
PATIENCE_SECONDS = 120.0


def stories() -> st.SearchStrategy[list[tuple[object, ...]]]:
    host = st.integers(0, HOSTS - 1)
    happening = st.one_of(
        st.tuples(st.just("write"), host, st.integers(1, 4)),
        st.tuples(st.just("write"), host, st.integers(1, 4)),
        st.tuples(st.just("write unheard"), host, st.integers(1, 40)),
        st.tuples(st.just("erase"), host, st.integers(0, 10)),
        st.tuples(st.just("run"), st.floats(0.05, 4.0)),
        st.tuples(st.just("partition"), st.lists(st.integers(0, 1), min_size=HOSTS, max_size=HOSTS)),
        st.tuples(st.just("block"), st.lists(st.tuples(host, host), max_size=4)),
        st.tuples(st.just("heal")),
        st.tuples(st.just("crash"), host),
        st.tuples(st.just("power loss"), host, st.sampled_from(["before", "after"])),
        st.tuples(st.just("start"), host),
        st.tuples(st.just("weather"), st.sampled_from([0.0, 0.1, 0.4]), st.sampled_from([0.0, 0.5])),
    )
    return st.lists(happening, min_size=2, max_size=14)


def live_through(story: list[tuple[object, ...]], seed: int) -> list[str]:
    """Let it happen, then let everything be well for a while; what is wrong in the end, in sentences."""
    simulation = Simulation(HOSTS, seed=seed)
    simulation.run(3)
    written: dict[bytes, object] = {}
    erased: set[bytes] = set()
    for name, *details in story:
        _happen(simulation, str(name), details, written, erased)
    simulation.heal()
    simulation.weather = Weather()
    for host in simulation.hosts:
        host.log.fails = ""
        if host.node is None:
            simulation.start(host)
    wanted = frozenset(written.keys() - erased)
    at = simulation.run(
        PATIENCE_SECONDS, until=lambda: all(host.ids == wanted and host.node for host in simulation.hosts)
    )
    if at is not None:
        return []
    return [
        f"host {host.number} lacks {len(wanted - host.ids)} and has {len(host.ids - wanted)} too many of {len(wanted)}"
        for host in simulation.hosts
        if host.ids != wanted
    ]


def _happen(simulation: Simulation, name: str, details: list, written: dict, erased: set[bytes]) -> None:  # noqa: C901 - a table of happenings
    hosts = simulation.hosts
    if name in ("write", "write unheard"):
        host = hosts[details[0]]
        if host.node is None or host.log.fails:
            return
        entries = simulation.write(host, details[1], tell=name == "write")
        written.update((entry_id(entry), entry) for entry in entries)
        if name == "write unheard":
            # Another process wrote them, and this one stopped before it had told anybody.
            simulation.crash(host)
            simulation.start(host)
    elif name == "erase":
        _erase(simulation, details, written, erased)
    elif name == "run":
        simulation.run(details[0])
    elif name == "partition":
        simulation.partition(*([n for n in range(HOSTS) if details[0][n] == side] for side in (0, 1)))
    elif name == "block":
        simulation.block(details[0])
    elif name == "heal":
        simulation.heal()
    elif name == "crash":
        simulation.crash(hosts[details[0]])
    elif name == "power loss":
        hosts[details[0]].log.fails = details[1]
    elif name == "start" and hosts[details[0]].node is None:
        simulation.start(hosts[details[0]])
    elif name == "weather":
        simulation.weather = Weather(loss=details[0], duplicates=details[1])


def _erase(simulation: Simulation, details: list, written: dict, erased: set[bytes]) -> None:
    host = simulation.hosts[details[0]]
    own = sorted(
        id_
        for id_, entry in written.items()
        if entry.author == host.key.public and entry.kind == "memory" and id_ not in erased
    )
    if host.node is None or host.log.fails or not own:
        return
    id_ = own[details[1] % len(own)]
    tombstone = simulation.make_entry(host, kind="erased", name=written[id_].record)
    host.log.add([tombstone])
    written[entry_id(tombstone)] = tombstone
    erased.add(id_)
    simulation.perform(host, lambda node: node.publish([tombstone], simulation.now))
