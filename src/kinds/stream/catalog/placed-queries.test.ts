/** Placed plans run: with one host for each worker, they give what one fragment gives. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import type { QueryRun } from "../run/core/index.ts";
import { createLocalConnectors, EdgeHub, HereHost, unlimitedMemory } from "../run/index.ts";
import { placeQuery } from "./core/placement/place-query.ts";
import type { Topology } from "./core/planner.ts";
import { specsOf } from "./core/specs-of.ts";
import { type Placed, type PlanOptions, placed, planOf, topology } from "./testing/placed-plans.ts";

const folder = await mkdtemp(join(tmpdir(), "capstan-placed-"));
after(() => rm(folder, { recursive: true, force: true }));
const row = (at: number): string => `${at % 7},${at % 3},${at},${at * 10}\n`;
const rows = Array.from({ length: 2_000 }, (_, at) => row(at)).join("");
await Promise.all([0, 1].map((file) => writeFile(join(folder, `${file}.csv`), rows)));

/** Runs the fragments of each worker on a host of its own. The lines of the sink, sorted. */
async function run({ plan, placement }: Placed, { workers }: Topology): Promise<readonly string[]> {
  const hub = new EdgeHub();
  const connectors = createLocalConnectors({
    sourceDir: folder,
    sinkDir: folder,
    print: () => undefined,
  });
  const query: QueryRun = { query: "q", epoch: 1 };
  const fragments = placement.map(({ fragment, workerId }) => ({ fragment, worker_id: workerId }));
  const over = Promise.withResolvers<void>();
  let left = fragments.length;
  const hosts: HereHost[] = [];
  const options = { connectors, clock: realClock, hub, memory: unlimitedMemory() };
  try {
    for (const { workerId } of workers) {
      const host = new HereHost({ ...options, sendTo: (_, name) => hub.send(name) });
      hosts.push(host);
      const own = { plan, fragments, worker: workerId, addressOf: (one: string) => `${one}:4612` };
      const specs = specsOf(own);
      for (const { out } of specs) {
        for (const { fragment, address } of [...out.values()].flat()) {
          const there = fragments.find((one) => one.fragment === fragment)?.worker_id;
          assert.equal(address, there === workerId ? undefined : `${there}:4612`);
        }
      }
      await host.deploy(query, specs, {
        acknowledged: () => undefined,
        ended: () => {
          left -= 1;
          if (left === 0) over.resolve();
        },
        failed: (_, thrown) => over.reject(thrown),
      });
    }
    for (const host of hosts) host.start(query);
    await over.promise;
  } finally {
    await Promise.all(hosts.map((host) => host.close()));
  }
  return (await readFile(join(folder, "out.csv"), "utf8")).split("\n").sort();
}

const whole = topology(["one"]);
const cases: readonly { name: string; plan: PlanOptions; on: Topology; relays: boolean }[] = [
  {
    name: "spread over workers",
    plan: { sources: ["", ""] },
    on: topology(["a", "b"]),
    relays: false,
  },
  {
    name: "passed on by the workers between",
    plan: { sources: ["e1", "e2"], sink: "cloud" },
    on: topology(["cloud", "e1", "e2", "gate", "mid"], "e1>gate e2>gate gate>mid mid>cloud"),
    relays: true,
  },
];

for (const { name, plan, on, relays } of cases) {
  test(`[SC22] rows are ${name}, and the results are those of one fragment`, async () => {
    const sources = (plan.sources ?? []).map(() => "");
    const alone = placed(placeQuery(planOf({ parallelism: 1, sources }), whole));
    const expected = await run(alone, whole);
    assert.ok(expected.length > 50);
    const result = placed(placeQuery(planOf(plan), on));
    const isRelay = result.plan.plan.nodes.some(
      ({ op, inputs }) =>
        op.kind === "exchange" &&
        inputs.some(({ node }) => result.plan.plan.nodes[node]?.op.kind === "exchange"),
    );
    assert.equal(isRelay, relays);
    assert.deepEqual(await run(result, on), expected);
  });
}
