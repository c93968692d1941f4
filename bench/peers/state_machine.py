"""The same comparison as a state machine of Hypothesis, the usual tool for it in Python."""

import time

from arm import Store, need, serve


def prepare(order):
    need("hypothesis")
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis.stateful import run_state_machine_as_test

    base, head = Store(order["store"]), Store(order["store"])
    layouts = base.parts(), head.parts()
    counted = [0]
    machine = make_machine(base, head, layouts, counted)
    # Generation alone: nothing fails, so nothing is shrunk.
    how = settings(
        max_examples=order["sequences"], stateful_step_count=order["ops"], deadline=None, database=None,
        derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck),
    )

    def run(_):
        counted[0] = 0
        began = time.perf_counter()
        run_state_machine_as_test(machine, settings=how)
        return {"ops": counted[0], "seconds": time.perf_counter() - began}

    return run


def make_machine(base, head, layouts, counted):
    from hypothesis import strategies
    from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

    key = strategies.sampled_from([f"k{i}" for i in range(13)])
    keys = strategies.lists(key, max_size=4)

    class Machine(RuleBasedStateMachine):
        @initialize(slots=strategies.integers(1, 10), object_nbytes=strategies.sampled_from((1, 2, 4, 8)))
        def build(self, slots, object_nbytes):
            self.object_nbytes = object_nbytes
            self.left, self.right = base.new(slots, object_nbytes), head.new(slots, object_nbytes)
            self.held = []

        @rule(batch=keys, retained=strategies.integers(0, 4), released=strategies.integers(0, 3))
        def put(self, batch, retained, released):
            retain = batch[:retained]
            self.held += retain
            release = [self.held.pop(0) for _ in range(min(released, len(self.held)))]
            payload = bytes(self.object_nbytes)
            self.both(
                lambda side, store: store.put(
                    [side.make(name, payload) for name in batch], retain_keys=retain, release_keys=release
                )
            )

        @rule(names=keys)
        def get(self, names):
            self.both(lambda side, store: store.get_concatenated(names))

        def both(self, call):
            counted[0] += 1
            assert outcome(call, base, self.left) == outcome(call, head, self.right)
            assert state(self.left, layouts[0]) == state(self.right, layouts[1])

    return Machine


def outcome(call, side, store):
    try:
        return call(side, store)
    except Exception as error:
        return type(error).__name__, str(error)


def state(store, layout):
    order, refs = getattr(store, layout["order"]), getattr(store, layout["refs"])
    return (
        dict(getattr(store, layout["slots"])),
        refs,
        [key for key in order if key not in refs],
        getattr(store, layout["free"]),
        getattr(store, layout["next"]),
    )


serve(prepare)
