import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { EncodedFragment, FragmentSpec, ManifestFragment } from "../../run/core/index.ts";
import type { FragmentError, StreamCommand } from "./commands.ts";
import { factTextOf, parseFactText } from "./fact-text.ts";
import { FragmentKeeper } from "./fragment-keeper.ts";
import type { KeeperAnswer, KeeperEffect, KeeperEvent } from "./keeper-events.ts";

const spec = (fragment: string): FragmentSpec => ({ fragment }) as FragmentSpec;
const encoded = (fragment: string, prepared = ""): EncodedFragment => ({
  ...{ fragment, nodes: [], positions: new Map() },
  prepared: new Map(prepared === "" ? [] : [[1, prepared]]),
});
const manifest = (fragment: string, path = "o"): ManifestFragment => ({
  ...{ fragment, nodes: [], positions: {} },
  objects: [{ path, sizeBytes: 1, crc32: 1 }],
});
const failure = (code: string, number?: number): FragmentError => ({
  ...{ code, number, message: `it is ${code}`, retry: "backoff" },
});

/** Effects as short lines. */
function lineOf(effect: KeeperEffect): string {
  switch (effect.kind) {
    case "answer": {
      const { command, error, fragments } = effect.answer;
      const states = fragments.map(({ fragment, state }) => `${fragment}=${state}`);
      return [`answer ${command}`, ...(error === undefined ? [] : [error.code]), ...states].join(
        " ",
      );
    }
    case "tell": {
      const states = effect.fragments.map(({ fragment, state }) => `${fragment}=${state}`);
      return `tell ${states.join(" ")}`;
    }
    case "setFact":
      return `${effect.key}=${parseFactText(effect.value)?.state}`;
    case "unsetFact":
      return `no ${effect.key}`;
    case "checkpointed": {
      const { checkpoint, state, prepared, session } = effect;
      const texts = [...prepared.values()].map((text) => ` ${text}`).join("");
      return `${session} checkpointed ${checkpoint} ${state.fragment}${texts}`;
    }
    case "store":
      return `store ${effect.checkpoint} ${effect.state.fragment} on ${effect.previous?.objects[0]?.path ?? "nothing"}`;
    case "trigger":
    case "completed":
      return `${effect.kind} ${effect.checkpoint}`;
    case "drain":
      return `drain ${effect.run.epoch} ${effect.suspend ? "suspend" : "close"}`;
    case "deploy":
      return `deploy ${effect.run.epoch} ${effect.specs.map(({ fragment }) => fragment).join(" ")}`;
    default:
      return `${effect.kind} ${effect.run.epoch}`;
  }
}

/** A keeper with one query, and what is said to it in short. */
class World {
  readonly keeper = new FragmentKeeper();
  #command = 0;

  hear(event: KeeperEvent): string[] {
    return this.keeper.step(event).map(lineOf);
  }
  say(command: StreamCommand, session = "s"): string[] {
    return this.hear({ kind: "command", session, command });
  }
  register(epoch = 1, restore?: readonly ManifestFragment[]): string[] {
    const fragments = [spec("a"), spec("b")];
    return this.say({ kind: "register", ...this.#numbered(epoch), fragments, restore });
  }
  start(epoch = 1): string[] {
    return this.say({ kind: "start", ...this.#numbered(epoch) });
  }
  stop(mode: "hard" | "soft" | "suspend" = "hard", epoch = 1): string[] {
    return this.say({ kind: "stop", ...this.#numbered(epoch), mode });
  }
  unregister(epoch = 1): string[] {
    return this.say({ kind: "unregister", ...this.#numbered(epoch) });
  }
  trigger(checkpoint: number, completed = 0, session = "s"): string[] {
    const command = {
      kind: "triggerCheckpoint",
      query: "q",
      epoch: 1,
      checkpoint,
      completed,
    } as const;
    return this.say(command, session);
  }
  complete(checkpoint: number): string[] {
    return this.say({ kind: "checkpointComplete", query: "q", epoch: 1, checkpoint });
  }
  happened(kind: "deployed" | "stopped" | "waited", epoch = 1): string[] {
    return this.hear({ kind, run: { query: "q", epoch } });
  }
  failed(kind: "deployFailed" | "failed", error: FragmentError, epoch = 1): string[] {
    return this.hear({ kind, run: { query: "q", epoch }, error });
  }
  ended(fragment: string, prepared?: string): string[] {
    const state = encoded(fragment, prepared);
    return this.hear({ kind: "ended", run: { query: "q", epoch: 1 }, state });
  }
  acknowledged(checkpoint: number, fragment: string, prepared?: string): string[] {
    const state = encoded(fragment, prepared);
    const run = { query: "q", epoch: 1 };
    return this.hear({ kind: "acknowledged", run, checkpoint, state });
  }
  stored(checkpoint: number, fragment: string, path?: string): string[] {
    const state = manifest(fragment, path);
    return this.hear({ kind: "stored", run: { query: "q", epoch: 1 }, checkpoint, state });
  }
  running(): this {
    this.register();
    this.happened("deployed");
    this.start();
    return this;
  }
  #numbered(epoch: number): { query: string; epoch: number; command: number } {
    this.#command += 1;
    return { query: "q", epoch, command: this.#command };
  }
}

const both = (state: string): string[] => [`fragment/q/a=${state}`, `fragment/q/b=${state}`];
const answered = (command: number, state: string): string =>
  `answer ${command} a=${state} b=${state}`;

test("[SD1, SD3, SD4] a query is registered, started, stopped and forgotten", () => {
  const world = new World();
  assert.deepEqual(world.register(), ["deploy 1 a b"]);
  assert.deepEqual(world.happened("deployed"), [...both("REGISTERED"), answered(1, "REGISTERED")]);
  assert.deepEqual(world.start(), ["start 1", ...both("RUNNING"), answered(2, "RUNNING")]);
  assert.deepEqual(world.keeper.running, [{ query: "q", epoch: 1 }]);
  assert.deepEqual(world.stop(), ["stop 1"]);
  assert.deepEqual(world.happened("stopped"), [...both("STOPPED"), answered(3, "STOPPED")]);
  assert.deepEqual(world.keeper.live, []);
  assert.deepEqual(world.unregister(), ["no fragment/q/a", "no fragment/q/b", "answer 4"]);
  assert.deepEqual(world.unregister(), ["answer 5"]);
});

test("[SD1] what is the case already is answered as done", () => {
  const world = new World().running();
  assert.deepEqual(world.register(), [answered(3, "RUNNING")]);
  assert.deepEqual(world.start(), [answered(4, "RUNNING")]);
  world.stop();
  assert.deepEqual(world.stop(), []);
  assert.deepEqual(world.happened("stopped").slice(2), [
    answered(5, "STOPPED"),
    answered(6, "STOPPED"),
  ]);
  assert.deepEqual(world.stop(), [answered(7, "STOPPED")]);
  assert.deepEqual(world.start(), ["answer 8 not_registered a=STOPPED b=STOPPED"]);
});

test("[SD1] commands of an older epoch are refused, whatever they are", () => {
  const world = new World();
  world.register(7);
  world.happened("deployed", 7);
  for (const line of [
    ...world.register(6),
    ...world.start(6),
    ...world.stop("hard", 6),
    ...world.unregister(6),
  ]) {
    assert.match(line, /^answer \d stale_epoch a=REGISTERED b=REGISTERED$/);
  }
});

test("[SD1] register of a newer epoch stops the older first, also while it is opened", () => {
  const world = new World().running();
  assert.deepEqual(world.register(2), ["stop 1"]);
  assert.deepEqual(world.register(3), ["answer 3 superseded a=RUNNING b=RUNNING"]);
  assert.deepEqual(world.happened("stopped"), [
    ...["no fragment/q/a", "no fragment/q/b", "deploy 3 a b"],
  ]);
  assert.deepEqual(world.register(4), []);
  assert.deepEqual(
    world.happened("deployed", 3),
    ["answer 4 superseded", "stop 3"].map((line) =>
      line.startsWith("answer") ? "answer 4 superseded a=REGISTERED b=REGISTERED" : line,
    ),
  );
  assert.deepEqual(world.happened("stopped", 3).at(-1), "deploy 4 a b");
  assert.deepEqual(world.failed("deployFailed", failure("port_in_use"), 4), [
    "answer 5 port_in_use",
  ]);
  assert.deepEqual(world.keeper.live, []);
});

test("[SD1] a stop while it is registered is done as soon as it is open", () => {
  const world = new World();
  world.register();
  assert.deepEqual(world.start(), []);
  assert.deepEqual(world.stop("soft"), []);
  assert.deepEqual(world.happened("deployed"), [
    ...["answer 1 superseded a=REGISTERED b=REGISTERED"],
    ...["answer 2 superseded a=REGISTERED b=REGISTERED", "stop 1"],
  ]);
  assert.deepEqual(world.happened("stopped").at(-1), answered(3, "STOPPED"));
});

test("[SD3] what could not be opened was never here", () => {
  const world = new World();
  world.register();
  world.start();
  assert.deepEqual(world.failed("deployFailed", failure("CannotOpenSink", 4004)), [
    ...["answer 1 CannotOpenSink", "answer 2 CannotOpenSink"],
  ]);
  assert.deepEqual(world.keeper.reports("q"), []);
  assert.deepEqual(world.register(), ["deploy 1 a b"]);
});

test("[SD4] a soft stop is answered when it has begun, and a hard one may follow", () => {
  const world = new World().running();
  assert.deepEqual(world.stop("suspend"), ["drain 1 suspend", answered(3, "RUNNING")]);
  assert.deepEqual(world.stop("soft"), [answered(4, "RUNNING")]);
  assert.deepEqual(world.ended("a"), ["fragment/q/a=STOPPED", "tell a=STOPPED b=RUNNING"]);
  assert.deepEqual(world.stop("hard"), ["stop 1"]);
  assert.deepEqual(world.happened("stopped"), ["fragment/q/b=STOPPED", answered(5, "STOPPED")]);
});

test("[SD3, SD30] fragments that end by themselves are TERMINATED, and it is told at once", () => {
  const world = new World().running();
  assert.deepEqual(world.ended("a"), ["fragment/q/a=TERMINATED", "tell a=TERMINATED b=RUNNING"]);
  assert.deepEqual(world.keeper.live, [{ query: "q", epoch: 1 }]);
  world.ended("b");
  assert.deepEqual(world.keeper.live, []);
  assert.deepEqual(world.start(), [answered(3, "TERMINATED")]);
});

test("[SD3, SD30] the first failure ends all fragments of a query, and the cause is told, not its effects", () => {
  const world = new World().running();
  assert.deepEqual(world.failed("failed", failure("RunningRoutineFailure", 4001)), ["wait 1"]);
  assert.deepEqual(world.failed("failed", failure("RunningRoutineFailure", 4001)), []);
  assert.deepEqual(world.failed("failed", failure("ArithmeticalError", 3013)), ["stop 1"]);
  assert.deepEqual(world.happened("waited"), []);
  assert.deepEqual(world.happened("stopped"), [...both("FAILED"), "tell a=FAILED b=FAILED"]);
  assert.deepEqual(
    world.keeper.reports("q").map(({ error }) => error?.code),
    ["ArithmeticalError", "ArithmeticalError"],
  );
  const alone = new World().running();
  alone.failed("failed", failure("RunningRoutineFailure", 4001));
  assert.deepEqual(alone.happened("waited"), ["stop 1"]);
});

test("[SD7] every fragment answers a checkpoint whenever it is triggered", () => {
  const world = new World().running();
  assert.deepEqual(world.trigger(1), ["trigger 1"]);
  assert.deepEqual(world.acknowledged(1, "a"), ["store 1 a on nothing"]);
  assert.deepEqual(world.stored(1, "a", "a1"), ["s checkpointed 1 a"]);
  // The session was lost, and its successor triggers it again.
  assert.deepEqual(world.trigger(1, 0, "t"), ["t checkpointed 1 a"]);
  assert.deepEqual(world.acknowledged(1, "b"), ["store 1 b on nothing"]);
  assert.deepEqual(world.stored(1, "b", "b1"), ["t checkpointed 1 b"]);
  assert.deepEqual(world.complete(1), ["completed 1"]);
  assert.deepEqual(world.complete(1), []);
  world.trigger(2, 1);
  assert.deepEqual(world.acknowledged(2, "a"), ["store 2 a on a1"]);
  // It was given up: what comes for it now is of no use, and the base is still the first one.
  world.trigger(3, 1);
  assert.deepEqual(world.stored(2, "a", "a2"), []);
  assert.deepEqual(world.acknowledged(2, "b"), []);
  assert.deepEqual(world.acknowledged(3, "a"), ["store 3 a on a1"]);
});

test("[SD32] what a barrier brought before the trigger counts, and the trigger still begins it here", () => {
  const world = new World().running();
  assert.deepEqual(world.acknowledged(1, "b"), ["store 1 b on nothing"]);
  assert.deepEqual(world.stored(1, "b", "b1"), []); // Nobody has asked yet.
  assert.deepEqual(world.trigger(1), ["trigger 1", "s checkpointed 1 b"]);
  assert.deepEqual(world.acknowledged(1, "a"), ["store 1 a on nothing"]);
  assert.deepEqual(world.stored(1, "a", "a1"), ["s checkpointed 1 a"]);
  // The barrier of the second also comes before it is told that the first is complete.
  assert.deepEqual(world.acknowledged(2, "b"), ["store 2 b on nothing"]);
  world.stored(2, "b", "b2");
  assert.deepEqual(world.trigger(2, 1), ["completed 1", "trigger 2", "s checkpointed 2 b"]);
  assert.deepEqual(world.acknowledged(2, "a"), ["store 2 a on a1"]);
  world.stored(2, "a", "a2");
  world.complete(2);
  world.trigger(3, 2);
  assert.deepEqual(world.acknowledged(3, "b"), ["store 3 b on b2"]);
});

test("[SD32] an end after the barrier is not what a checkpoint before it gets", () => {
  const world = new World().running();
  world.acknowledged(1, "b");
  world.stored(1, "b", "b1");
  assert.deepEqual(world.ended("b", "p"), [
    "fragment/q/b=TERMINATED",
    "tell a=RUNNING b=TERMINATED",
  ]);
  assert.deepEqual(world.trigger(1), ["trigger 1", "s checkpointed 1 b"]);
});

test("[SD7] restored state is the base of the first checkpoint", () => {
  const world = new World();
  world.register(1, [manifest("a", "restored")]);
  world.happened("deployed");
  assert.deepEqual(world.trigger(5, 4), ["completed 4"]); // Not started: nothing to take.
  world.start();
  world.trigger(6, 4);
  assert.deepEqual(world.acknowledged(6, "a"), ["store 6 a on restored"]);
});

test("[SD7] a fragment that has ended gives its last state, and what it prepared until that is complete", () => {
  const world = new World().running();
  world.trigger(1);
  world.acknowledged(1, "a", "p1");
  world.stored(1, "a", "a1");
  assert.deepEqual(world.ended("a", "p2"), [
    "fragment/q/a=TERMINATED",
    "tell a=TERMINATED b=RUNNING",
  ]);
  // It ended during the checkpoint, which it has answered; b has ended without that.
  assert.deepEqual(world.ended("b", "p3"), [
    "store 1 b on nothing",
    "fragment/q/b=TERMINATED",
    "tell a=TERMINATED b=TERMINATED",
  ]);
  assert.deepEqual(world.stored(1, "b", "b1"), ["s checkpointed 1 b p3"]);
  // checkpointComplete was lost with the session.
  assert.deepEqual(world.trigger(2, 1), [
    ...["completed 1", "trigger 2", "store 2 a on a1", "s checkpointed 2 b"],
  ]);
  assert.deepEqual(world.stored(2, "a", "a2"), ["s checkpointed 2 a p2"]);
  // The second is given up, so the third is the first complete one with a's last state.
  assert.deepEqual(world.trigger(3, 1), [
    ...["trigger 3", "s checkpointed 3 a p2", "s checkpointed 3 b"],
  ]);
  world.complete(3);
  assert.deepEqual(world.trigger(4, 3), ["trigger 4", "s checkpointed 4 a", "s checkpointed 4 b"]);
});

test("[SD3] a report is a fact of a bounded length, whatever the message", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 20_000 }), (message) => {
      const report = {
        ...{ fragment: "s1.0", epoch: 3, state: "FAILED" as const },
        error: { ...failure("FormattingError", 4003), message },
      } as const;
      const text = factTextOf(report);
      assert.ok(text.length <= 4_096);
      if (JSON.stringify(report).length <= 4_096) assert.deepEqual(parseFactText(text), report);
      else assert.equal(parseFactText(text)?.error?.code, "FormattingError");
    }),
  );
});

/** A host that does what it is told in any order, and checks that it can be done. */
class ModelHost {
  readonly runs = new Map<string, { epoch: number; isStarted: boolean }>();
  readonly facts = new Map<string, string>();
  readonly answers: KeeperAnswer[] = [];
  readonly underWay: KeeperEvent[] = [];
  #epoch = 0;

  perform(effect: KeeperEffect): void {
    switch (effect.kind) {
      case "deploy": {
        const { query, epoch } = effect.run;
        assert.ok(!this.runs.has(query), "one run of a query at a time");
        assert.equal(this.#busy(query), undefined, "one operation at a time");
        this.#epoch = Math.max(this.#epoch, epoch);
        this.runs.set(query, { epoch, isStarted: false });
        this.underWay.push({ kind: "deployed", run: effect.run });
        break;
      }
      case "start":
      case "drain": {
        const run = this.runs.get(effect.run.query);
        assert.equal(run?.epoch, effect.run.epoch);
        assert.equal(this.#busy(effect.run.query), undefined);
        assert.equal(run?.isStarted, effect.kind === "drain");
        if (run !== undefined) run.isStarted = true;
        break;
      }
      case "stop":
        assert.equal(this.runs.get(effect.run.query)?.epoch, effect.run.epoch);
        assert.equal(this.#busy(effect.run.query), undefined, "one operation at a time");
        this.underWay.push({ kind: "stopped", run: effect.run });
        break;
      case "setFact":
        this.facts.set(effect.key, effect.value);
        break;
      case "unsetFact":
        this.facts.delete(effect.key);
        break;
      case "answer":
        this.answers.push(effect.answer);
        break;
      default:
        break;
    }
  }

  /** Completes something that is under way. */
  complete(pick: number, fails: boolean): KeeperEvent | undefined {
    const [event] = this.underWay.splice(pick % Math.max(1, this.underWay.length), 1);
    if (event?.kind === "stopped") this.runs.delete(event.run.query);
    if (event?.kind !== "deployed" || !fails) return event;
    this.runs.delete(event.run.query);
    return { kind: "deployFailed", run: event.run, error: failure("port_in_use") };
  }

  #busy(query: string): KeeperEvent | undefined {
    return this.underWay.find((event) => event.kind !== "command" && event.run.query === query);
  }
}

const anyCommand = fc.record({
  query: fc.constantFrom("p", "q"),
  epoch: fc.integer({ min: 1, max: 4 }),
  kind: fc.constantFrom("register", "start", "stop", "unregister"),
  mode: fc.constantFrom("hard", "soft", "suspend"),
});
const anyStep = fc.oneof(
  anyCommand,
  fc.record({ pick: fc.nat(10), fails: fc.boolean() }),
  fc.record({ query: fc.constantFrom("p", "q"), end: fc.constantFrom("a", "b", "failure") }),
);

test("[SD1, SD3, SD4] any commands in any order: one operation at a time, one answer each, true facts", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
      const keeper = new FragmentKeeper();
      const host = new ModelHost();
      let commands = 0;
      const hear = (event: KeeperEvent | undefined): void => {
        if (event === undefined) return;
        for (const effect of keeper.step(event)) host.perform(effect);
      };
      for (const step of steps) {
        if ("pick" in step) hear(host.complete(step.pick, step.fails));
        else if ("end" in step) {
          const epoch = host.runs.get(step.query)?.epoch ?? 1;
          const run = { query: step.query, epoch };
          const error = failure("ArithmeticalError", 3013);
          if (host.runs.get(step.query)?.isStarted !== true) continue;
          if (step.end === "failure") hear({ kind: "failed", run, error });
          else hear({ kind: "ended", run, state: encoded(step.end) });
        } else {
          commands += 1;
          const fragments = [spec("a"), spec("b")];
          const command = { ...step, command: commands, fragments, restore: undefined };
          hear({ kind: "command", session: "s", command: command as StreamCommand });
        }
      }
      while (host.underWay.length > 0) hear(host.complete(0, false));
      assert.equal(host.answers.length, commands);
      assert.equal(new Set(host.answers.map(({ command }) => command)).size, commands);
      for (const query of ["p", "q"]) {
        const facts = [...host.facts.values()].flatMap((text) => parseFactText(text) ?? []);
        const keys = [...host.facts.keys()].filter((key) => key.startsWith(`fragment/${query}/`));
        const reports = keeper.reports(query);
        assert.equal(keys.length, reports.length);
        for (const report of reports) {
          assert.ok(facts.some((fact) => JSON.stringify(fact) === JSON.stringify(report)));
        }
        // What the worker says is running does, and nothing else.
        const runs = reports.some(({ state }) => state === "RUNNING" || state === "REGISTERED");
        if (runs) assert.equal(host.runs.get(query)?.epoch, reports[0]?.epoch);
        if (reports.length === 0) assert.ok(!host.runs.has(query));
      }
      // The coordinator wants nothing any more.
      for (const query of ["p", "q"]) {
        commands += 1;
        const command = { kind: "unregister", query, epoch: 9, command: commands } as const;
        hear({ kind: "command", session: "s", command });
      }
      while (host.underWay.length > 0) hear(host.complete(0, false));
      assert.deepEqual([host.runs.size, host.facts.size], [0, 0]);
    }),
    { numRuns: 200 },
  );
});
