import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import { Gate } from "./gate.ts";

test("[ST10] as many inside as there are slots, the others in the order they came", async () => {
  const gate = new Gate({ slots: 2, waitersMax: 10, waitMsMax: 100 }, new VirtualClock());
  const entered: string[] = [];
  const enter = (name: string): Promise<number> => gate.enter().then(() => entered.push(name));
  await Promise.all([enter("a"), enter("b")]);
  const [c, d] = [enter("c"), enter("d")];
  gate.leave();
  await c;
  assert.deepEqual(entered, ["a", "b", "c"]);
  gate.leave();
  await d;
  assert.deepEqual(entered, ["a", "b", "c", "d"]);
});

test("[ST10] one too many is refused at once", async () => {
  const gate = new Gate({ slots: 1, waitersMax: 1, waitMsMax: 100 }, new VirtualClock());
  await gate.enter();
  const waiting = gate.enter();
  await assert.rejects(gate.enter(), { code: "store_busy", retry: "backoff" });
  gate.leave();
  await waiting;
});

test("[ST10] nobody waits longer than the bound, and who gave up is not let in", async () => {
  const clock = new VirtualClock();
  const gate = new Gate({ slots: 1, waitersMax: 5, waitMsMax: 100 }, clock);
  await gate.enter();
  const refused = assert.rejects(gate.enter(), { code: "store_busy" });
  await clock.advance(100);
  await refused;
  gate.leave();
  await gate.enter();
});

test("[ST16] a closed gate turns away those who wait, and is done when the last one has left", async () => {
  const gate = new Gate({ slots: 1, waitersMax: 5, waitMsMax: 100 }, new VirtualClock());
  await gate.enter();
  const refused = assert.rejects(gate.enter(), { code: "shutting_down" });
  let isClosed = false;
  const closing = gate.close().then(() => {
    isClosed = true;
  });
  await refused;
  assert.equal(isClosed, false);
  gate.leave();
  await closing;
  await assert.rejects(gate.enter(), { code: "shutting_down" });
});
