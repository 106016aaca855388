import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { LakeUpkeep, type NewColumn } from "../../../../data/lake/index.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { defaultDialect } from "../../language/core/index.ts";
import type { CheckpointRecord } from "../core/checkpoint-record.ts";
import type { SinkWriter } from "../core/connector.ts";
import { type Manifest, manifestVersion } from "../core/manifest.ts";
import { createLocalConnectors } from "../local/local-connectors.ts";
import { planFile } from "../local/plan-file.ts";
import { openLakeWorld } from "../testing/lake-world.ts";
import { fragmentLake } from "./answer-calls.ts";
import { openLakeRecord } from "./lake-record.ts";

let laterMs = 0;
const clock = { ...realClock, wallMs: () => realClock.wallMs() + laterMs };
const world = await openLakeWorld(clock);
after(() => world.close());
const { lake, home } = world;
const dayMs = 24 * 3_600_000;

async function open(table: string): Promise<{ sink: SinkWriter; record: CheckpointRecord }> {
  const text = `
    CREATE LOGICAL SOURCE s(v UINT64 NOT NULL);
    CREATE PHYSICAL SOURCE FOR s TYPE Generator SET('SEQUENCE UINT64 0 9 1' AS "SOURCE".GENERATOR_SCHEMA);
    SELECT v FROM s INTO Lake('${table}' AS "SINK".TABLE);`;
  const [planned] = planFile(text, defaultDialect, { tables: await world.tables() });
  const node = planned?.plan.nodes.find(({ op }) => op.kind === "sink");
  assert.ok(planned !== undefined && node?.op.kind === "sink");
  const places = { sourceDir: home, sinkDir: home, print: () => undefined };
  const fragments = { ...places, lake: fragmentLake(lake) };
  const sink = await createLocalConnectors(fragments).openSink({
    ...{ op: node.op, schema: node.schema, from: undefined },
    run: { query: "q", epoch: 1 },
  });
  const directory = join(home, table);
  const own = { plan: planned.plan, directory, files: realFiles, name: "q" };
  return { sink, record: await openLakeRecord({ ...own, lake }) };
}

async function prepare(
  sink: SinkWriter,
  ...values: bigint[]
): Promise<ReadonlyMap<number, string>> {
  const own = { kind: "fixed", type: "UINT64", validity: undefined } as const;
  const column = { ...own, values: BigUint64Array.from(values) };
  await sink.write({ rowCount: values.length, columns: [column], selection: undefined });
  const prepared = await sink.prepare?.();
  assert.ok(prepared !== undefined);
  return new Map([[2, prepared]]);
}

const manifest = (checkpoint: number, epoch = 1): Manifest => ({
  ...{ version: manifestVersion, planHash: "p", parallelism: 1, keyGroups: 256 },
  ...{ checkpoint, epoch, fragments: [] },
});
const countOf = async (table: string): Promise<unknown> =>
  (await world.ask(table, "SELECT count(*) FROM t"))[0]?.[0];

async function change(table: string, column: NewColumn | undefined): Promise<void> {
  const moment = { kind: "current" } as const;
  const [version] = await lake.catalog.resolve([{ schema: undefined, name: table, moment }]);
  assert.ok(version);
  const { tableId, columns } = version.table;
  await lake.catalog.commit({
    readSnapshot: version.snapshot,
    token: `change ${table} ${version.snapshot}`,
    changes: [
      column === undefined
        ? { kind: "dropColumn", tableId, columnId: columns[0]?.columnId ?? 0 }
        : { kind: "addColumn", tableId, column, initialDefault: undefined },
    ],
    ...{ author: "person", message: "" },
  });
}

test("[SU43] a checkpoint is committed once, also when it is said again after more than a week", async () => {
  const { sink, record } = await open("weeks");
  const stale = await open("weeks");
  const prepared = await prepare(sink, 1n, 2n);
  await record.complete(manifest(1), prepared);
  await stale.sink.close();
  laterMs += 8 * dayMs;
  await new LakeUpkeep({ store: lake.store }).forgetTokens();
  const again = await open("weeks");
  assert.equal((await again.record.last())?.checkpoint, 1);
  await again.record.complete(manifest(2, 2), await prepare(again.sink, 3n));
  assert.equal(await countOf("weeks"), "3");
  // The process of the first run wakes up and goes on.
  const late = await prepare(sink, 3n);
  await assert.rejects(record.complete(manifest(2, 1), late), /another process has gone on/);
  assert.equal(await countOf("weeks"), "3");
  assert.deepEqual(await world.check(), []);
});

test("[SU44] files that were put long ago are not committed, since upkeep may have deleted them", async () => {
  const { sink, record } = await open("old");
  const prepared = await prepare(sink, 1n);
  laterMs += dayMs;
  await assert.rejects(record.complete(manifest(1), prepared), /were written 24 hours ago/);
  assert.equal(await record.last(), undefined);
  assert.equal(await countOf("old"), "0");
});

test("[SU42] a commit that loses against a change of columns is tried again while its files fit", async () => {
  const { sink, record } = await open("raced");
  const first = await prepare(sink, 1n);
  const added = { name: "more", type: "VARCHAR", nullable: true, defaultValue: undefined };
  await change("raced", added);
  await record.complete(manifest(1), first);
  assert.equal(await countOf("raced"), "1");
  const second = await prepare(sink, 2n);
  await change("raced", undefined);
  await assert.rejects(record.complete(manifest(2), second), /its column v was dropped/);
  assert.equal((await record.last())?.checkpoint, 1);
  assert.deepEqual(await world.check(), []);
});

test("[SU43] checkpoints of another store are refused", async () => {
  await open("mine");
  await lake.store.transaction(async ({ db }) => {
    await db.deleteFrom("stream_checkpoints").execute();
  });
  await assert.rejects(open("mine"), /belong to another lake/);
});
