/** A query over two processes that are joined by the exchange, one of which is killed. */
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { OperatingError } from "../../src/ground/kernel/errors.ts";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { Peer, startProcessLink } from "../../src/ground/threads/index.ts";
import { defaultDialect, type Plan } from "../../src/kinds/stream/language/core/index.ts";
import { planFile } from "../../src/kinds/stream/run/local/plan-file.ts";
import type { StreamProcess } from "../../tools/conformance/streams/stream-process.ts";
import { makeDir, removeDir, waitFor } from "./harness.ts";

const folder = makeDir();
const module = fileURLToPath(
  new URL("../../tools/conformance/streams/stream-process.ts", import.meta.url),
);
const started: Peer<StreamProcess>[] = [];
after(async () => {
  await Promise.all(started.map((peer) => peer.stop()));
  removeDir(folder);
});

async function startOne(): Promise<Peer<StreamProcess>> {
  const { PATH = "", HOME = "" } = process.env;
  const command = [process.execPath, "--disable-warning=ExperimentalWarning", module] as const;
  const peer = new Peer<StreamProcess>(startProcessLink(command, { PATH, HOME }), {
    clock: realClock,
    open: { token: "a token of this test" },
    lost: (cause) => new OperatingError("query_failed", "never", cause.message, { cause }),
  });
  started.push(peer);
  await peer.ready;
  return peer;
}

/** Two sources, one in each process; keys in both, and the sink in the first. */
function planOf(rows: number, perSecond: number, out: string): Plan {
  const source = (
    seed: number,
  ): string => `CREATE PHYSICAL SOURCE FOR s TYPE Generator SET('SEQUENCE UINT64 0 ${rows} 1,
    SEQUENCE UINT64 0 ${rows} 1' AS "SOURCE".GENERATOR_SCHEMA, ${perSecond} AS "SOURCE".ROWS_PER_SECOND,
    ${seed} AS "SOURCE".SEED);`;
  const [planned] = planFile(
    `CREATE LOGICAL SOURCE s(k UINT64 NOT NULL, ts UINT64 NOT NULL);
     ${source(1)}
     ${source(2)}
     SELECT start, k % UINT64(10) AS key, COUNT(*) AS n, MEDIAN(k) AS middle FROM s
     GROUP BY k % UINT64(10) WINDOW TUMBLING(ts, SIZE 100 MS)
     INTO File('${out}' AS "SINK".FILE_PATH);`,
    defaultDialect,
  );
  assert.ok(planned !== undefined);
  return planned.plan;
}

async function runOver(
  peers: readonly Peer<StreamProcess>[],
  query: string,
  plan: Plan,
): Promise<readonly Promise<unknown>[]> {
  const addresses = await Promise.all(peers.map((peer) => peer.ask("address", undefined)));
  return peers.map((peer, place) =>
    peer.ask("run", { query, plan, place, addresses, testdata: folder }),
  );
}

for (const [victim, role] of [
  [1, "senders, and half of the keys"],
  [0, "the sink, and half of the keys"],
] as const) {
  test(`[SU24] when the process with ${role} is killed, the other one fails by name and goes on with others`, async () => {
    const peers = [await startOne(), await startOne()];
    const out = `endless-${victim}.csv`;
    const running = await runOver(peers, "endless", planOf(1_000_000_000, 20_000, out));
    const ended = Promise.allSettled(running);
    await waitFor("results", () => {
      const stats = statSync(join(folder, out), { throwIfNoEntry: false });
      return (stats?.size ?? 0) > 0 ? true : undefined;
    });
    await peers[victim]?.kill();
    const outcome = (await ended)[1 - victim];
    assert.equal(outcome?.status, "rejected");
    assert.match(
      String(outcome.reason),
      /the sender of an exchange is gone|the exchange with .* was lost/,
    );

    const whole = `whole-${victim}.csv`;
    const next = peers.with(victim, await startOne());
    await Promise.all(await runOver(next, "next", planOf(20_000, 1_000_000, whole)));
    const lines = readFileSync(join(folder, whole), "utf8").trimEnd().split("\n");
    // Each second source has each row again.
    assert.equal(lines.length, (20_000 / 100) * 10);
    for (const line of lines) assert.equal(line.split(",")[2], "20");
    await Promise.all(next.map((peer) => peer.stop()));
  });
}
