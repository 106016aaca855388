/**
 * The contract of every pair of dialer and acceptor, LN1 to LN4. Run on gRPC and on the
 * simulated network.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionEpoch } from "../../kernel/ids.ts";
import type { ControllerFrame, Envelope, WorkerFrame } from "./frames.ts";
import type { AcceptLink, Dialer, Link, LinkHandlers, WorkerAddress } from "./link.ts";

export interface LinkHarness {
  readonly dialer: Dialer;
  /** An address where `accept` is called for every dial. */
  listen(accept: AcceptLink): Promise<WorkerAddress>;
  /** An address where nobody listens. */
  nowhere(): Promise<WorkerAddress>;
  /** Lets time pass until `condition` holds. */
  until(condition: () => boolean): Promise<void>;
  close(): Promise<void>;
}

type ToWorker = Envelope<ControllerFrame>;
type ToController = Envelope<WorkerFrame>;

/** One end, which records what it hears. */
class End<In, Out> implements LinkHandlers<In> {
  link: Link<Out> | undefined;
  readonly frames: In[] = [];
  readonly closes: string[] = [];
  framesAfterClose = 0;
  #depth = 0;
  calledInside = false;

  onFrame(frame: In): void {
    if (this.#depth > 0) this.calledInside = true;
    if (this.closes.length > 0) this.framesAfterClose += 1;
    this.frames.push(frame);
  }
  onClose(reason: string): void {
    if (this.#depth > 0) this.calledInside = true;
    this.closes.push(reason);
  }
  send(frame: Out): boolean {
    return this.#inside(() => this.link?.send(frame) ?? false);
  }
  close(reason: string): void {
    this.#inside(() => this.link?.close(reason));
  }
  /** Whatever is called while this runs was called synchronously. */
  #inside<T>(call: () => T): T {
    this.#depth += 1;
    try {
      return call();
    } finally {
      this.#depth -= 1;
    }
  }
}

const epoch = 1 as SessionEpoch;
const beat = (sequence: number): ToWorker => ({
  epoch,
  frame: { kind: "heartbeat", sequence, ackedFactsVersion: 0 },
});
const answer = (sequence: number): ToController => ({
  epoch,
  frame: { kind: "heartbeatAnswer", sequence, delta: undefined },
});
const count = 500;
const sequences = Array.from({ length: count }, (_, index) => index + 1);

export function testLinkContract(name: string, open: () => Promise<LinkHarness>): void {
  const withLink = (
    what: string,
    body: (
      near: End<ToController, ToWorker>,
      far: End<ToWorker, ToController>,
      harness: LinkHarness,
    ) => Promise<void>,
  ): void => {
    test(`${name}: ${what}`, async () => {
      const harness = await open();
      try {
        const far = new End<ToWorker, ToController>();
        const address = await harness.listen((link) => {
          far.link = link;
          return far;
        });
        const near = new End<ToController, ToWorker>();
        near.link = harness.dialer.dial(address, near);
        near.send(beat(0));
        await harness.until(() => far.frames.length === 1);
        far.frames.length = 0;
        await body(near, far, harness);
        for (const end of [near, far]) {
          assert.equal(end.calledInside, false, "LN3: nothing is called from send or close");
          assert.equal(end.framesAfterClose, 0, "LN2: nothing is called after onClose");
          assert.ok(end.closes.length <= 1, "LN2: onClose is called once");
        }
      } finally {
        await harness.close();
      }
    });
  };

  withLink("[LN1, LN3] frames arrive in order, both ways at once", async (near, far, harness) => {
    for (const sequence of sequences) {
      assert.equal(near.send(beat(sequence)), true);
      assert.equal(far.send(answer(sequence)), true);
    }
    await harness.until(() => near.frames.length === count && far.frames.length === count);
    assert.deepEqual(near.frames, sequences.map(answer));
    assert.deepEqual(far.frames, sequences.map(beat));
  });

  withLink("[LN2] the controller closes: both ends hear it once", async (near, far, harness) => {
    near.close("enough");
    near.close("again");
    await harness.until(() => near.closes.length === 1 && far.closes.length === 1);
    assert.deepEqual(near.closes, ["enough"]);
    assert.equal(near.send(beat(1)), false);
    assert.equal(far.send(answer(1)), false);
  });

  withLink("[LN2] the worker closes: both ends hear it once", async (near, far, harness) => {
    far.send(answer(1));
    far.close("enough");
    far.close("again");
    await harness.until(() => near.closes.length === 1 && far.closes.length === 1);
    assert.deepEqual(far.closes, ["enough"]);
    assert.ok(near.frames.length <= 1); // LN4: it may have been lost with the link.
    assert.equal(far.send(answer(1)), false);
    assert.equal(near.send(beat(1)), false);
  });

  withLink("[LN2] both close at once", async (near, far, harness) => {
    near.close("near");
    far.close("far");
    await harness.until(() => near.closes.length === 1 && far.closes.length === 1);
    assert.deepEqual([near.closes, far.closes], [["near"], ["far"]]);
  });

  withLink(
    "[LN4] what arrives before a close is a beginning of what was sent",
    async (near, far, harness) => {
      for (const sequence of sequences) far.send(answer(sequence));
      far.close("enough");
      await harness.until(() => near.closes.length === 1);
      assert.deepEqual(near.frames, sequences.slice(0, near.frames.length).map(answer));
    },
  );

  withLink("[LN1] two dials of one address are two links", async (near, far, harness) => {
    const others: End<ToWorker, ToController>[] = [];
    const address = await harness.listen((link) => {
      const end = new End<ToWorker, ToController>();
      end.link = link;
      others.push(end);
      return end;
    });
    const dials = [1, 2].map(() => {
      const end = new End<ToController, ToWorker>();
      end.link = harness.dialer.dial(address, end);
      end.send(beat(1));
      return end;
    });
    await harness.until(
      () => others.length === 2 && others.every((end) => end.frames.length === 1),
    );
    dials[0]?.close("enough");
    await harness.until(() => others.some((end) => end.closes.length === 1));
    assert.equal(others.filter((end) => end.closes.length === 0).length, 1);
    assert.deepEqual([near.closes, far.closes, dials[1]?.closes], [[], [], []]);
    dials[1]?.close("enough");
  });

  test(`${name}: [LN2] a dial that fails is an onClose without an onFrame, and not synchronous`, async () => {
    const harness = await open();
    try {
      const end = new End<ToController, ToWorker>();
      end.link = harness.dialer.dial(await harness.nowhere(), end);
      assert.deepEqual(end.closes, []);
      end.send(beat(1));
      await harness.until(() => end.closes.length === 1);
      assert.deepEqual(end.frames, []);
      assert.equal(end.send(beat(2)), false);
      assert.equal(end.calledInside, false);
    } finally {
      await harness.close();
    }
  });
}
