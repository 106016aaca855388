import assert from "node:assert/strict";
import { test } from "node:test";
import type { AcceptLink, ControllerFrame, Envelope } from "../../src/ground/cluster/core/index.ts";
import type { SessionEpoch } from "../../src/ground/kernel/ids.ts";
import { createPrng, type Prng } from "../../src/ground/kernel/prng.ts";
import { Life } from "../engine/life.ts";
import { Timeline } from "../engine/timeline.ts";
import { Trace } from "../engine/trace.ts";
import { SimNetwork } from "./network.ts";
import { NetworkConditions } from "./network-conditions.ts";

/** Frames are told apart by their epoch: nobody here looks at it. */
function frameOf(number: number): Envelope<ControllerFrame> {
  return { epoch: number as SessionEpoch, frame: { kind: "setDraining", draining: true } };
}

/** Sends a frame every few milliseconds over a link that is blocked now and then. */
function runLink(prng: Prng): { readonly sent: number; readonly arrived: readonly number[] } {
  const timeline = new Timeline(prng.fork("schedule"));
  const nowMs = (): number => timeline.nowMs;
  const conditions = new NetworkConditions(prng.fork("latency"), nowMs);
  const probe = { frameSent: () => undefined, frameDelivered: () => undefined };
  const network = new SimNetwork(
    timeline,
    conditions,
    prng.fork("network"),
    new Trace(nowMs, undefined),
    probe,
  );
  const lifeOf = (name: string): Life =>
    new Life(name, 1, timeline, prng.fork(name), (_life, thrown) => {
      throw thrown;
    });
  const arrived: number[] = [];
  const accept: AcceptLink = () => ({
    onFrame: ({ epoch }) => arrived.push(epoch),
    onClose: () => undefined,
  });
  network.attach(lifeOf("worker"), accept, undefined);
  const controller = lifeOf("controller");
  network.attach(controller, undefined, undefined);
  const handlers = { onFrame: () => undefined, onClose: () => undefined };
  const link = network.dialer(controller).dial({ host: "worker", grpcPort: 1 }, handlers);
  const sent = 200;
  for (let number = 1; number <= sent; number += 1) {
    timeline.at(100 + number * 7, () => link.send(frameOf(number)));
  }
  const way = conditions.direction("controller", "worker");
  for (let block = 0; block < 5; block += 1) {
    const fromMs = 150 + block * 250 + prng.next() * 50;
    timeline.at(fromMs, () => {
      way.blocks += 1;
    });
    timeline.at(fromMs + 20 + prng.next() * 300, () => {
      way.blocks -= 1;
      if (way.blocks === 0) network.release("controller", "worker");
    });
  }
  while (timeline.step(5_000));
  return { sent, arrived };
}

test("[SN1, SN2] frames of one link arrive in order, each once, whatever was blocked meanwhile", () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const { sent, arrived } = runLink(createPrng(seed));
    const inOrder = Array.from({ length: sent }, (_, index) => index + 1);
    assert.deepEqual(arrived, inOrder, `seed ${seed}`);
  }
});
