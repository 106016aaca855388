import assert from "node:assert/strict";
import { test } from "node:test";
import { FairTurns } from "./fair-turns.ts";

test("[SU14] queries have turns one after the other, however many of their fragments are busy", async () => {
  const turns = new FairTurns();
  const log: string[] = [];
  const busy = async (query: string, count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn += 1) {
      await turns.wait(query);
      log.push(query);
    }
  };
  const many = Array.from({ length: 20 }, () => busy("many", 2));
  await Promise.all([...many, busy("single", 15)]);
  const first = log.slice(0, 30);
  assert.equal(first.filter((query) => query === "single").length, 15, first.join(" "));
  assert.equal(log.length, 55);
});

test("[SU14] the event loop has its turn between two others", async () => {
  const turns = new FairTurns();
  let ticks = 0;
  let isOver = false;
  const tick = (): void => {
    ticks += 1;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  for (let turn = 0; turn < 50; turn += 1) await turns.wait("q");
  isOver = true;
  assert.ok(ticks >= 49, `${ticks} turns of the event loop`);
});
