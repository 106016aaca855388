import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkerEndpoint } from "../../../../ground/cluster/index.ts";
import type {
  ControllerId,
  Incarnation,
  LeaseEpoch,
  SessionEpoch,
  WorkerId,
} from "../../../../ground/kernel/ids.ts";
import { silentLogger } from "../../../../ground/kernel/logger.ts";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import type { StreamCommand } from "../core/index.ts";
import { decodeReport, encodeCommand } from "./codec.ts";
import { streamChannel, streamChannelOf, tellStates } from "./stream-channel.ts";

type Frame = Parameters<ReturnType<WorkerEndpoint["accept"]>["onFrame"]>[0]["frame"];
type Role = "coordinator" | "query_api";

/** A worker's endpoint, and what its fragments were told. */
class World {
  readonly obeyed: string[] = [];
  readonly endpoint: WorkerEndpoint;

  constructor() {
    const obey = (session: string, { kind, query }: StreamCommand): void => {
      this.obeyed.push(`${session} ${kind} ${query}`);
    };
    this.endpoint = new WorkerEndpoint({
      clock: new VirtualClock(),
      logger: silentLogger,
      workerId: "w1" as WorkerId,
      incarnation: "run-1" as Incarnation,
      softwareVersion: "test",
      capacity: 1,
      dataUrl: () => "http://w1",
      channels: [
        streamChannelOf({
          worker: { obey },
          sessions: () => this.endpoint.sessions(),
          logger: silentLogger,
        }),
      ],
    });
  }

  caller(id: string, role: Role, lease: number, newest = streamChannel.newest): Caller {
    return new Caller(this.endpoint, id, role, lease, newest);
  }
}

class Caller {
  readonly heard: string[] = [];
  readonly #say: (frame: Frame) => void;
  readonly #close: () => void;

  constructor(endpoint: WorkerEndpoint, id: string, role: Role, lease: number, newest: number) {
    const handlers = endpoint.accept({
      send: ({ frame }) => {
        const isReport = frame.kind === "channel";
        if (frame.kind === "refused") this.heard.push(`refused ${frame.reason}`);
        else this.heard.push(isReport ? decodeReport(frame.payload).kind : frame.kind);
        return true;
      },
      close: () => undefined,
    });
    this.#say = (frame) => handlers.onFrame({ epoch: 1 as SessionEpoch, frame });
    this.#close = () => handlers.onClose("lost");
    this.#say({
      kind: "hello",
      controllerId: id as ControllerId,
      role,
      leaseEpoch: lease as LeaseEpoch,
      versions: { oldest: 2, newest: 2 },
      channels: [{ ...streamChannel, newest }],
    });
  }

  start(query: string): void {
    const payload = encodeCommand({ kind: "start", query, epoch: 1, command: 1 });
    this.#say({ kind: "channel", channel: streamChannel.name, payload });
  }

  lose(): void {
    this.#close();
  }
}

test("[SD2] only a coordinator's session commands, and the newest one", () => {
  const world = new World();
  const api = world.caller("api", "query_api", 0);
  api.start("of-an-api");
  const first = world.caller("one", "coordinator", 1);
  first.start("q1");
  const second = world.caller("two", "coordinator", 2);
  first.start("of-an-older-lease");
  second.start("q2");
  const late = world.caller("three", "coordinator", 1);
  late.start("late");
  assert.deepEqual(world.obeyed, ["one#1 start q1", "two#1 start q2"]);
  assert.deepEqual(api.heard, ["welcome"]);
  assert.deepEqual(first.heard, ["welcome", "refused stale_lease"]);
  assert.deepEqual(late.heard, ["refused stale_lease"]);
  // Fragments that a session started go on when it ends.
  second.lose();
  assert.equal(world.obeyed.length, 2);
});

test("[SD30] states are told to coordinators that know of them, and to nobody else", () => {
  const world = new World();
  const callers = [
    world.caller("api", "query_api", 0),
    world.caller("one", "coordinator", 1, 1),
    world.caller("one-newer", "query_api", 0),
  ];
  const report: Parameters<typeof tellStates>[1] = {
    kind: "states",
    query: "q1",
    epoch: 1,
    factsVersion: 1,
    fragments: [{ fragment: "s0.0", epoch: 1, state: "TERMINATED", error: undefined }],
  };
  tellStates(world.endpoint, report);
  for (const { heard } of callers) assert.deepEqual(heard, ["welcome"]);
  const newer = world.caller("two", "coordinator", 2);
  tellStates(world.endpoint, report);
  assert.deepEqual(newer.heard, ["welcome", "states"]);
});
