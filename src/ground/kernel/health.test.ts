import assert from "node:assert/strict";
import { test } from "node:test";
import { HealthBoard, parsePartFact, partFactKey, showPartFact } from "./health.ts";
import { VirtualClock } from "./testing/virtual-clock.ts";

test("[HE3] a part is ok until it says otherwise, and again when it says so", async () => {
  const clock = new VirtualClock();
  const board = new HealthBoard({ clock });
  const log = board.part("metrics_log");
  const startMs = clock.wallMs();
  assert.deepEqual(board.parts(), [
    { name: "metrics_log", state: "ok", sinceMs: startMs, vital: false },
  ]);
  await clock.advance(1_000);
  log.degraded("the disk is full");
  const [degraded] = board.parts();
  assert.deepEqual(degraded, {
    name: "metrics_log",
    state: "degraded",
    reason: "the disk is full",
    sinceMs: startMs + 1_000,
    vital: false,
  });
  await clock.advance(1_000);
  log.degraded("the disk is still full");
  assert.equal(board.parts()[0]?.sinceMs, startMs + 1_000, "the state is the same");
  log.ok();
  assert.deepEqual(board.parts(), [
    { name: "metrics_log", state: "ok", sinceMs: startMs + 2_000, vital: false },
  ]);
});

test("[HE2] only a vital part that failed is in the way of serving", () => {
  const board = new HealthBoard({ clock: new VirtualClock() });
  const store = board.part("store", { vital: true });
  const log = board.part("metrics_log");
  log.failed("byte 7 is wrong");
  store.degraded("nobody can write");
  assert.equal(board.blocker(), undefined);
  store.failed("it is gone");
  assert.equal(board.blocker()?.reason, "it is gone");
});

test("[HE1] of several reports under a name the worst counts, and a closed one does not", () => {
  const board = new HealthBoard({ clock: new VirtualClock() });
  const [one, other] = [board.part("disk"), board.part("disk")];
  one.failed("full");
  other.degraded("nearly full");
  assert.deepEqual(
    board.parts().map(({ name, state }) => `${name} ${state}`),
    ["disk failed"],
  );
  one.close();
  one.failed("late");
  assert.equal(board.parts()[0]?.reason, "nearly full");
  other.close();
  assert.deepEqual(board.parts(), []);
});

test("[HE4] a listener hears of every change, and of nothing else, until it is taken off", () => {
  const board = new HealthBoard({ clock: new VirtualClock() });
  const part = board.part("store");
  const heard: string[] = [];
  const off = board.onChange(() =>
    heard.push(
      board
        .parts()
        .map(({ state }) => state)
        .join(),
    ),
  );
  part.failed("gone");
  part.failed("gone");
  part.ok();
  part.close();
  part.close();
  off();
  board.part("store").failed("gone");
  assert.deepEqual(heard, ["failed", "ok", ""]);
});

test("a part that is not well is told in one line of bounded length, and read back", () => {
  const part = { name: "data_dir", state: "failed", sinceMs: 5, vital: true } as const;
  const told = showPartFact({ ...part, reason: "gone:\nno such directory" });
  assert.deepEqual(parsePartFact(partFactKey("data_dir"), told), {
    name: "data_dir",
    state: "failed",
    sinceMs: 5,
    reason: "gone:\nno such directory",
  });
  assert.ok(showPartFact({ ...part, reason: "x".repeat(9_999) }).length < 400);
  assert.equal(parsePartFact("queue_depth", told), undefined);
  assert.equal(parsePartFact("part_x", "failed since then: x"), undefined);
});
