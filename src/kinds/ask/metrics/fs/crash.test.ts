/** Kills real processes: every acknowledged sample must be there afterwards, once. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createPrng } from "../../../../ground/kernel/prng.ts";
import { collectSeries } from "../segments/collect-series.ts";
import { decodeRawSeries } from "../segments/raw-series-codec.ts";
import { openSegment } from "../segments/segment-reader.ts";
import { SeriesInterner } from "../segments/series-interner.ts";
import { everySeries } from "../testing/sample-batches.ts";
import { openOnCatalog, readCatalog, rowsOfAppend } from "./testing/crash-child.ts";

/** When to kill the child: this long after it printed the word. */
interface Kill {
  readonly word: "acked" | "compacted";
  readonly afterMs: number;
}

/**
 * Runs the child until some time after it printed the word. Returns its last acknowledged append.
 */
function runAndKill(root: string, first: number, { word, afterMs }: Kill): Promise<number> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, "testing", "crash-child.ts"), root, `${first}`],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  return new Promise((resolve, reject) => {
    let text = "";
    let isDoomed = false;
    child.stdout.on("data", (part: Buffer) => {
      text += part.toString();
      if (isDoomed || !text.includes(word)) return;
      isDoomed = true;
      setTimeout(() => child.kill("SIGKILL"), afterMs);
    });
    child.once("error", reject);
    child.once("close", () => {
      const acked = [...text.matchAll(/^acked (\d+)$/gm)].map(([, index]) => Number(index));
      resolve(acked.at(-1) ?? first - 1);
    });
  });
}

async function check(root: string, acked: number): Promise<number> {
  const db = await openOnCatalog(root);
  const interner = new SeriesInterner();
  const lakeDir = join(root, "lake");
  const readers = readCatalog(root).visible.map((info) => openSegment(lakeDir, info, { interner }));
  const scope = { matchers: everySeries, shard: 0, shardCount: 1 };
  const range = { minMs: -Infinity, maxMs: Infinity };
  const head = decodeRawSeries(db.slice({ snapshot: db.snapshot(), ...scope, ...range }));
  const found = collectSeries(readers, head, { ...scope, range });
  for (const reader of readers) reader.close();
  const counts = new Set(found.map(({ samples }) => samples.count));
  assert.ok(counts.size <= 1, "an append is there whole or not at all");
  const [count = 0] = counts;
  assert.ok(count > acked, `${count} appends are there, ${acked + 1} were acknowledged`);
  for (const [series, { labels, samples }] of found.entries()) {
    for (let index = 0; index < count; index += 1) {
      const row = rowsOfAppend(index).find(([wanted]) => wanted.key === labels.key);
      assert.deepEqual(
        [samples.ts[index], samples.values[index]],
        [row?.[1].ts, row?.[1].value],
        `${series}`,
      );
    }
  }
  await db.close();
  return count;
}

test("[MH16] killed while it appends, seals and compacts: nothing acknowledged is lost, nothing is there twice", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "capstan-crash-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const prng = createPrng("crash");
  let next = 0;
  const isCompacted = (): boolean => readCatalog(root).visible.some(({ level }) => level > 0);
  // However slow the machine is, some rounds run until a compaction finished.
  for (const word of ["acked", "compacted", "acked", "compacted"] as const) {
    const acked = await runAndKill(root, next, { word, afterMs: prng.below(300) });
    next = await check(root, acked);
  }
  assert.ok(next > 20, `${next} appends are enough to mean something`);
  assert.ok(isCompacted(), "something was compacted");
});
