import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { silentLogger } from "../../../../../ground/kernel/logger.ts";
import { VirtualClock } from "../../../../../ground/kernel/testing/virtual-clock.ts";
import { parseScrapeConfig } from "../../core/ingest/scrape/parse-scrape-config.ts";
import { buildTargets, type Target } from "../../core/ingest/scrape/target.ts";
import type { ScrapedBody } from "../../core/ingest/scrape/target-samples.ts";
import { ScrapeLoop } from "./scrape-loop.ts";

const taken = {
  appended: 1,
  histogramsAppended: 0,
  exemplarsAppended: 0,
  duplicates: 0,
  conflicts: 0,
  tooOld: 0,
  tooNew: 0,
  firstProblem: undefined,
};

function targetOf(): Target {
  const [job] = parseScrapeConfig(
    "scrape_configs:\n  - job_name: j\n    scrape_interval: 1s\n    scrape_timeout: 1s\n    static_configs: [{targets: ['h:1']}]\n",
  ).jobs;
  assert.ok(job !== undefined);
  const [target] = buildTargets(job, job.staticGroups).targets;
  assert.ok(target !== undefined);
  return target;
}

test("[IN15] a scrape that is over leaves nothing in memory, however long its target is scraped", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const clock = new VirtualClock();
  const bodies: WeakRef<Uint8Array>[] = [];
  const loop = new ScrapeLoop({
    target: targetOf(),
    pool: "j",
    clock,
    logger: silentLogger,
    offsetSeed: "",
    forcedError: undefined,
    predecessor: undefined,
    fetch: async (): Promise<ScrapedBody> => {
      const body = new TextEncoder().encode("a 1\n".repeat(1_000));
      bodies.push(new WeakRef(body));
      return { body, contentType: "text/plain" };
    },
    append: async () => taken,
  });
  loop.start();
  await clock.advance(10_000);
  assert.ok(bodies.length >= 9);
  await setImmediate();
  collectGarbage();
  await setImmediate();
  collectGarbage();
  const kept = bodies.filter((body) => body.deref() !== undefined);
  assert.ok(kept.length <= 1, `${kept.length} of ${bodies.length} bodies are still there`);
  loop.halt();
});
