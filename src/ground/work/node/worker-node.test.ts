import assert from "node:assert/strict";
import { test } from "node:test";
import { protocolVersions } from "../../cluster/core/index.ts";
import type { Incarnation, LeaseEpoch, SessionEpoch, WorkerId } from "../../kernel/ids.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { createPrng } from "../../kernel/prng.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import type { ArtifactSpool, Executor, WorkCommand } from "../core/index.ts";
import { decodeReport, encodeCommand } from "../wire/codec.ts";
import { workChannel } from "../wire/work-channel.ts";
import { WorkerNode, type WorkerNodeOptions } from "./worker-node.ts";

type Handlers = ReturnType<WorkerNode["accept"]>;
type ControllerEnvelope = Parameters<Handlers["onFrame"]>[0];
type WorkerFrame = Parameters<Parameters<WorkerNode["accept"]>[0]["send"]>[0]["frame"];

const epoch = 1 as SessionEpoch;
/** An execution that takes 1 s. */
const executor = (clock: VirtualClock): Executor => ({
  execute: (_work, _path, signal) =>
    new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("aborted")));
      clock.after(1_000, () =>
        resolve({
          sizeBytes: 1,
          checksum: `sha256:${"0".repeat(64)}`,
          rowCount: 1,
          minTs: undefined,
          maxTs: undefined,
          schemaVersion: 1,
        }),
      );
    }),
});
const spool: ArtifactSpool = {
  reserve: () => ({ name: "artifact", path: "/artifact", bytesMax: 100 }),
  commit: () => Promise.resolve(),
  release: () => undefined,
  remove: () => undefined,
  stat: () => undefined,
  usage: () => ({ usedBytes: 0, freeBytes: 100 }),
  onEvicted: () => undefined,
};

class Fixture {
  readonly clock = new VirtualClock();
  readonly registeredMs: number[] = [];
  readonly heard: WorkerFrame[] = [];
  readonly node: WorkerNode;
  failures = 0;

  constructor(options: Partial<WorkerNodeOptions> = {}) {
    this.node = new WorkerNode({
      clock: this.clock,
      prng: createPrng(1),
      logger: silentLogger,
      workerId: "worker" as WorkerId,
      incarnation: "run-1" as Incarnation,
      softwareVersion: "test",
      capacity: 1,
      executor: executor(this.clock),
      spool,
      dataUrl: () => "http://worker",
      register: () => {
        this.registeredMs.push(this.clock.nowMs());
        this.failures -= 1;
        return this.failures >= 0 ? Promise.reject(new Error("nobody there")) : Promise.resolve();
      },
      ...options,
    });
  }

  /** A coordinator sends a hello; the result sends further frames. */
  coordinator(): (frame: ControllerEnvelope["frame"]) => void {
    const handlers = this.node.accept({
      send: ({ frame }) => {
        this.heard.push(frame);
        return true;
      },
      close: () => undefined,
    });
    const say = (frame: ControllerEnvelope["frame"]): void => handlers.onFrame({ epoch, frame });
    say({
      kind: "hello",
      controllerId: "coordinator" as never,
      role: "coordinator",
      leaseEpoch: 1 as LeaseEpoch,
      versions: protocolVersions,
      channels: [workChannel],
    });
    return say;
  }

  /** The kinds of frames, and of the reports in them. */
  kinds(): readonly string[] {
    return this.heard.map((frame) =>
      frame.kind === "channel" ? decodeReport(frame.payload).kind : frame.kind,
    );
  }
}

const frameOf = (command: WorkCommand): ControllerEnvelope["frame"] => ({
  kind: "channel",
  channel: workChannel.name,
  payload: encodeCommand(command),
});
const assignment: Extract<WorkCommand, { kind: "assignWork" }> = {
  kind: "assignWork",
  attempt: 1,
  work: {
    queryId: "q" as never,
    leafId: "leaf" as never,
    workId: "w" as never,
    kind: "sql",
    body: "{}",
    affinityKey: "a",
  },
};

test("[WN1] it registers until it is heard, ever more slowly", async () => {
  const fixture = new Fixture();
  fixture.failures = 6;
  fixture.node.start();
  await fixture.clock.advance(1_000);
  assert.equal(fixture.node.registered, false);
  await fixture.clock.advance(20_000);
  assert.equal(fixture.node.registered, true);
  const gaps = fixture.registeredMs.slice(1, 7).map((atMs, index) => {
    return atMs - (fixture.registeredMs[index] ?? 0);
  });
  assert.equal(fixture.registeredMs[0], 0);
  for (const [index, gapMs] of gaps.entries()) {
    const waitMs = Math.min(200 * 2 ** index, 5_000);
    assert(gapMs >= waitMs / 2 && gapMs <= waitMs, `${gapMs} ms after try ${index + 1}`);
  }
});

test("[WN1] it registers again when no coordinator has come for a while", async () => {
  const fixture = new Fixture();
  fixture.node.start();
  await fixture.clock.advance(14_000);
  assert.equal(fixture.registeredMs.length, 1);
  await fixture.clock.advance(5_000);
  assert.equal(fixture.registeredMs.length, 2);
});

test("[WN1] but not while one has a session with it", async () => {
  const fixture = new Fixture();
  fixture.node.start();
  const say = fixture.coordinator();
  for (let sequence = 1; sequence < 60; sequence += 1) {
    say({ kind: "heartbeat", sequence, ackedFactsVersion: 0 });
    await fixture.clock.advance(1_000);
  }
  assert.equal(fixture.registeredMs.length, 1);
  await fixture.clock.advance(30_000);
  assert(fixture.registeredMs.length > 1, "the coordinator fell silent");
});

test("[WN2] a drain rejects new work, finishes what was accepted, and then is done", async () => {
  const fixture = new Fixture();
  const say = fixture.coordinator();
  say(frameOf(assignment));
  const drained = fixture.node.drain(5_000);
  const late = { ...assignment.work, workId: "late" as never };
  say(frameOf({ ...assignment, attempt: 2, work: late }));
  await fixture.clock.advance(1_000);
  assert.deepEqual(fixture.kinds(), [
    "welcome",
    "workAccepted",
    "admission",
    "workRejected",
    "workReady",
  ]);
  say(frameOf({ kind: "ackArtifact", key: assignment.work, attempt: 1 }));
  assert.equal(await drained, true);
});

test("[WN2] a drain that takes too long is given up", async () => {
  const fixture = new Fixture();
  fixture.coordinator()(frameOf(assignment));
  const drained = fixture.node.drain(500);
  await fixture.clock.advance(500);
  assert.equal(await drained, false);
});

test("[WN2] an operator ends an operator's drain, not that of a process which goes away", async () => {
  const fixture = new Fixture();
  const say = fixture.coordinator();
  const admissions = (): readonly unknown[] =>
    fixture.heard.flatMap((frame) => (frame.kind === "admission" ? [frame.admission] : []));
  const open = { accepting: true, draining: false };
  const closed = { accepting: false, draining: true };
  say({ kind: "setDraining", draining: true });
  say({ kind: "setDraining", draining: false });
  assert.deepEqual(admissions(), [closed, open]);
  await fixture.node.drain(10);
  say({ kind: "setDraining", draining: false });
  assert.deepEqual(admissions(), [closed, open, closed]);
});

test("[WN4] while a vital part has failed it takes no work, and an operator cannot change that", () => {
  const fixture = new Fixture();
  const say = fixture.coordinator();
  const taken = (): readonly boolean[] =>
    fixture.heard.flatMap((frame) =>
      frame.kind === "admission" ? [frame.admission.accepting] : [],
    );
  fixture.node.setBlocked(true);
  say({ kind: "setDraining", draining: false });
  assert.deepEqual(taken(), [false]);
  say(frameOf(assignment));
  assert.equal(fixture.kinds().at(-1), "workRejected");
  fixture.node.setBlocked(false);
  assert.deepEqual(taken(), [false, true]);
  say({ kind: "setDraining", draining: true });
  fixture.node.setBlocked(false);
  assert.deepEqual(taken(), [false, true, false]);
});

test("[WN3] stopping aborts what runs and does not wait for a registration that hangs", async () => {
  const fixture = new Fixture({ register: () => new Promise(() => undefined) });
  fixture.node.start();
  fixture.coordinator()(frameOf(assignment));
  await fixture.clock.advance(10);
  assert.equal(fixture.node.manager.counts().executing, 1);
  let isStopped = false;
  const stopped = fixture.node.stop().then(() => {
    isStopped = true;
  });
  await fixture.clock.advance(1_990);
  assert.equal(isStopped, false);
  assert.equal(fixture.node.manager.counts().executing, 0);
  assert.equal(fixture.node.endpoint.sessions().length, 0);
  await fixture.clock.advance(20);
  await stopped;
});

test("being dropped is passed on", () => {
  let drops = 0;
  const fixture = new Fixture({
    onDropped: () => {
      drops += 1;
    },
  });
  fixture.coordinator()({ kind: "goodbye", reason: "dropped" });
  assert.equal(drops, 1);
});
