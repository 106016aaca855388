import assert from "node:assert/strict";
import { test } from "node:test";
import { HealthBoard } from "../../kernel/health.ts";
import { VirtualClock } from "../../kernel/testing/virtual-clock.ts";
import { tellHealth } from "./tell-health.ts";

test("[WN4] parts that are not well are facts for as long as they are; a vital one that failed blocks", () => {
  const board = new HealthBoard({ clock: new VirtualClock() });
  const facts = new Map<string, string>();
  let isBlocked: boolean | undefined;
  const off = tellHealth(board, {
    setBlocked: (blocked) => {
      isBlocked = blocked;
    },
    endpoint: {
      setFact: (key, value) => void facts.set(key, value),
      unsetFact: (key) => void facts.delete(key),
    },
  });
  assert.equal(isBlocked, false);
  const directory = board.part("data_dir", { vital: true });
  const cache = board.part("cache");
  cache.degraded("slow");
  assert.deepEqual([[...facts.keys()], isBlocked], [["part_cache"], false]);
  directory.failed("gone");
  assert.match(facts.get("part_data_dir") ?? "", /^failed since .*Z: gone$/);
  assert.equal(isBlocked, true);
  directory.ok();
  cache.ok();
  assert.deepEqual([facts.size, isBlocked], [0, false]);
  off();
  directory.failed("gone");
  assert.equal(facts.size, 0);
});
