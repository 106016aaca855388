import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { realClock } from "./real-clock.ts";

test("a delay that has passed fires soon, not synchronously, and without a complaint of Node's", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on("warning", onWarning);
  let fired = false;
  await new Promise<void>((resolve) => {
    realClock.after(-5, () => {
      fired = true;
      resolve();
    });
    assert.equal(fired, false);
  });
  await delay(5);
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []);
});

test("a delay that is too long for one timer is kept to, and can be cancelled on its way", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const partMs = 2 ** 31 - 1;
  let fired = 0;
  realClock.after(2 * partMs + 10, () => (fired += 1));
  const cancelled = realClock.after(2 * partMs + 10, () => assert.fail("it was cancelled"));
  mock.timers.tick(partMs);
  cancelled.cancel();
  mock.timers.tick(partMs);
  assert.equal(fired, 0);
  mock.timers.tick(10);
  assert.equal(fired, 1);
  mock.timers.reset();
});
