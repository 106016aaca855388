import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { LakeUpkeep } from "../../../../data/lake/index.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { DialectError, defaultDialect } from "../../language/core/index.ts";
import type { SourceReader } from "../core/connector.ts";
import { createLocalConnectors } from "../local/local-connectors.ts";
import type { LocalQuery } from "../local/local-query.ts";
import { planFile } from "../local/plan-file.ts";
import { openLakeWorld } from "../testing/lake-world.ts";
import { runSql } from "../testing/run-sql.ts";
import { fragmentLake } from "./answer-calls.ts";

const world = await openLakeWorld();
after(() => world.close());
const { home, lake } = world;

async function create(name: string, columns: readonly (readonly [string, string])[]) {
  const about = { token: `create ${name}`, author: "person", message: "" };
  await lake.catalog.commit({
    ...about,
    readSnapshot: (await lake.catalog.current()).snapshot,
    changes: [
      {
        ...{ kind: "createTable", schema: "main", name, files: [], orReplace: false },
        columns: columns.map(([column, type]) => ({
          ...{ name: column, type, nullable: true, defaultValue: undefined },
        })),
      },
    ],
  });
}

/** Ends every row of the table, as DELETE does. */
async function empty(name: string): Promise<void> {
  const moment = { kind: "current" } as const;
  const [version] = await lake.catalog.resolve([{ schema: undefined, name, moment }]);
  assert.ok(version);
  const { tableId } = version.table;
  const ended = version.files.map(({ fileId }) => fileId);
  const change = { kind: "changeRows", tableId, added: [], deletes: [], ended } as const;
  await lake.catalog.commit({
    readSnapshot: version.snapshot,
    token: `empty ${name} ${version.snapshot}`,
    changes: [{ ...change, isCompaction: false }],
    ...{ author: "person", message: "" },
  });
}

const reading = (table: string, settings = "", interval = "20 MS"): string => `
  CREATE LOGICAL SOURCE s(id INT64 NOT NULL, note VARSIZED, at INT64);
  CREATE PHYSICAL SOURCE FOR s TYPE Lake SET('${table}' AS "SOURCE".TABLE${settings});
  SELECT id, note, at FROM s INTO Print() SET('${interval}' AS "QUERY".CHECKPOINT_INTERVAL);`;

const run = (
  text: string,
  options: { checkpoints?: string; onOpen?: (q: readonly LocalQuery[]) => void } = {},
) =>
  runSql(text, {
    folder: home,
    lake: world,
    ...(options.checkpoints === undefined ? {} : { checkpoints: join(home, options.checkpoints) }),
    ...(options.onOpen === undefined ? {} : { onOpen: options.onOpen }),
  });

const numbersOf = (printed: string): number[] =>
  printed.split("\n").flatMap((line) => (line === "" ? [] : Number.parseInt(line, 10)));
const upTo = (count: number, from = 0): number[] =>
  Array.from({ length: count - from }, (_, at) => from + at);
const rowsFrom = (from: number, to: number): string =>
  `SELECT r AS id, 'n' || r AS note, make_timestamp(r * 1000) AS at FROM range(${from}, ${to}) AS x(r)`;
const columns = [
  ["id", "BIGINT"],
  ["note", "VARCHAR"],
  ["at", "TIMESTAMP"],
] as const;

test("[SU45, SU50] a table is read with its rows of now, and a run again reads what was added", async () => {
  await create("orders", columns);
  await world.insert("orders", "SELECT 0, NULL, TIMESTAMP '1970-01-01 00:00:01.5'");
  await world.insert(
    "orders",
    "SELECT 1, 'two\nlines, \"quoted\"', NULL UNION ALL SELECT 2, '', NULL",
  );
  const { printed } = await run(reading("orders"), { checkpoints: "orders" });
  assert.equal(printed, '0,NULL,1500\n1,"two\nlines, ""quoted""",NULL\n2,"",NULL\n');
  await world.insert("orders", rowsFrom(3, 10));
  const again = await run(reading("orders"), { checkpoints: "orders" });
  assert.deepEqual(numbersOf(again.printed), upTo(10, 3));
  const nothing = await run(reading("orders"), { checkpoints: "orders" });
  assert.equal(nothing.printed, "");
});

test("[SU45] reading begins where START says", async () => {
  await create("starts", columns);
  await world.insert("starts", rowsFrom(0, 3));
  const { snapshot } = await lake.catalog.current();
  await world.insert("starts", rowsFrom(3, 5));
  const after = await run(reading("starts", `, '${snapshot}' AS "SOURCE".START`));
  assert.deepEqual(numbersOf(after.printed), [3, 4]);
  const latest = await run(reading("starts", `, 'latest' AS "SOURCE".START`));
  assert.equal(latest.printed, "");
});

test("[SU46] a source that follows gives each row once, over expiry and restarts", async () => {
  await create("live", columns);
  const follow = `, TRUE AS "SOURCE".FOLLOW, '10 MS' AS "SOURCE".POLL_INTERVAL`;
  const seen: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    const [from, middle, to] = [round * 2_000, round * 2_000 + 1_500, (round + 1) * 2_000];
    await world.insert("live", rowsFrom(from, middle));
    let query: LocalQuery | undefined;
    const running = run(reading("live", follow), {
      checkpoints: "live",
      onOpen: ([only]) => {
        query = only;
      },
    });
    while (((await query?.progress())?.rowsOut ?? 0) < middle - from) await tick();
    await world.insert("live", rowsFrom(middle, to));
    while (((await query?.progress())?.rowsOut ?? 0) < to - from) await tick();
    query?.drain();
    seen.push(...numbersOf((await running).printed));
    if (round === 1) await expireOthers();
  }
  assert.deepEqual(seen, upTo(8_000));
});

/** Expires every snapshot that no cursor holds, as the lake's upkeep does after a week. */
async function expireOthers(): Promise<void> {
  const upkeep = new LakeUpkeep({ store: lake.store });
  const snapshots = (await lake.catalog.snapshots(10_000)).map(({ snapshot }) => snapshot);
  const { snapshots: expired } = await upkeep.expire(snapshots, 14 * 24 * 3_600_000);
  assert.ok(expired > 0, "snapshots expired");
}

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

test("[SU46] a snapshot that has expired is an error that says so", async () => {
  await create("late", columns);
  await world.insert("late", rowsFrom(0, 2));
  await run(reading("late"), { checkpoints: "late" });
  await lake.store.transaction(async ({ db }) => {
    await db.deleteFrom("lake_pins").execute();
  });
  await world.insert("late", rowsFrom(2, 4));
  await expireOthers();
  await assert.rejects(
    run(reading("late"), { checkpoints: "late" }),
    /cannot be read on from snapshot/,
  );
});

for (const start of ["earliest", "a snapshot"]) {
  test(`[SU54] from ${start}: files that upkeep merges and deletes meanwhile are read where they are now`, async () => {
    const table = start === "earliest" ? "merged" : "merged_later";
    await create(table, columns);
    const { snapshot } = await lake.catalog.current();
    const each = 200_000;
    for (let file = 0; file < 3; file += 1) {
      await world.insert(table, rowsFrom(file * each, (file + 1) * each));
    }
    const from = start === "earliest" ? "" : `, '${snapshot}' AS "SOURCE".START`;
    const reader = await openReader(reading(table, from));
    let next = 0;
    for (let given = await reader.read(); given.kind !== "end"; given = await reader.read()) {
      if (given.kind !== "rows") continue;
      const [ids] = given.batch.columns;
      assert.ok(ids?.kind === "fixed");
      if (next === 0) await world.merge(table);
      for (let row = 0; row < given.batch.rowCount; row += 1) {
        assert.equal(Number(ids.values[row]), next);
        next += 1;
      }
    }
    await reader.close();
    assert.equal(next, 3 * each);
  });
}

async function openReader(text: string): Promise<SourceReader> {
  const [planned] = planFile(text, defaultDialect, { tables: await world.tables() });
  const node = planned?.plan.nodes.find(({ op }) => op.kind === "source");
  assert.ok(planned !== undefined && node?.op.kind === "source");
  const places = { sourceDir: home, sinkDir: home, print: () => undefined };
  const { settings } = planned.plan;
  return await createLocalConnectors({ ...places, lake: fragmentLake(lake) }).openSource({
    ...{ op: node.op, settings, clock: realClock, from: undefined },
  });
}

test("[SU47] deleted and updated rows are an error, or are left out", async () => {
  await create("changed", columns);
  await world.insert("changed", rowsFrom(0, 3));
  await run(reading("changed"), { checkpoints: "changed" });
  const ignore = `, 'ignore' AS "SOURCE".ON_CHANGE`;
  await run(reading("changed", ignore), { checkpoints: "ignored" });
  await empty("changed");
  await world.insert("changed", rowsFrom(3, 5));
  await assert.rejects(run(reading("changed"), { checkpoints: "changed" }), (thrown) => {
    assert.ok(thrown instanceof DialectError && thrown.number === 4002);
    assert.match(thrown.message, /were updated or deleted between snapshots/);
    return true;
  });
  const { printed } = await run(reading("changed", ignore), { checkpoints: "ignored" });
  assert.deepEqual(numbersOf(printed), [3, 4]);
});

test("[SU48] a lookup join meets the newest version of its table", async () => {
  await create("customers", [
    ["id", "INTEGER"],
    ["city", "VARCHAR"],
  ]);
  await world.insert("customers", "SELECT 1, 'Oslo' UNION ALL SELECT 2, NULL");
  const text = `
    CREATE LOGICAL SOURCE s(v INT32 NOT NULL);
    CREATE PHYSICAL SOURCE FOR s TYPE Generator
      SET('SEQUENCE INT32 0 1000000000 1' AS "SOURCE".GENERATOR_SCHEMA, 1000 AS "SOURCE".ROWS_PER_SECOND);
    SELECT customers.id, customers.city FROM s JOIN TABLE customers ON s.v % 1 + 1 = customers.id INTO Print();`;
  let query: LocalQuery | undefined;
  const running = run(text, {
    onOpen: ([only]) => {
      query = only;
    },
  });
  const out = async (): Promise<number> => (await query?.progress())?.rowsOut ?? 0;
  while ((await out()) === 0) await tick();
  await world.insert("customers", "SELECT 1, 'Bergen'");
  const before = await out();
  // A second row of the same key doubles what comes out, once the table is renewed.
  while ((await out()) < before + 3_000) await tick();
  query?.drain();
  const { printed } = await running;
  assert.match(printed, /1,Oslo/);
  assert.match(printed, /1,Bergen/);
});

test("[SU48] a query goes on from its checkpoint when the table of its join has a column more", async () => {
  await create("visits", columns);
  await create("people", [
    ["id", "BIGINT"],
    ["city", "VARCHAR"],
  ]);
  await world.insert("people", "SELECT 1, 'Oslo' UNION ALL SELECT 2, 'Bergen'");
  await world.insert("visits", rowsFrom(0, 3));
  const text = `
    CREATE LOGICAL SOURCE s(id INT64 NOT NULL);
    CREATE PHYSICAL SOURCE FOR s TYPE Lake SET('visits' AS "SOURCE".TABLE);
    SELECT s.id, people.city FROM s JOIN TABLE people ON s.id % 3 = people.id INTO Print();`;
  const first = await run(text, { checkpoints: "visits" });
  assert.equal(first.printed, "1,Oslo\n2,Bergen\n");
  const moment = { kind: "current" } as const;
  const [version] = await lake.catalog.resolve([{ schema: undefined, name: "people", moment }]);
  assert.ok(version);
  const column = { name: "street", type: "VARCHAR", nullable: true, defaultValue: undefined };
  await lake.catalog.commit({
    readSnapshot: version.snapshot,
    token: "a street",
    changes: [
      { kind: "addColumn", tableId: version.table.tableId, column, initialDefault: undefined },
    ],
    ...{ author: "person", message: "" },
  });
  await world.insert("visits", rowsFrom(3, 6));
  const again = await run(text, { checkpoints: "visits" });
  assert.equal(again.printed, "4,Oslo\n5,Bergen\n");
});

test("[SU48] a table that is too large for the query is named", async () => {
  await create("large", [
    ["id", "INTEGER"],
    ["note", "VARCHAR"],
  ]);
  await world.insert("large", "SELECT r, repeat('x', 100) FROM range(20000) AS x(r)");
  const text = `
    CREATE LOGICAL SOURCE s(v INT32 NOT NULL);
    CREATE PHYSICAL SOURCE FOR s TYPE Generator SET('SEQUENCE INT32 0 10 1' AS "SOURCE".GENERATOR_SCHEMA);
    SELECT s.v, large.note FROM s JOIN TABLE large ON s.v = large.id
      INTO Print() SET(1048576 AS "QUERY".MEMORY_LIMIT);`;
  await assert.rejects(run(text), /the table large does not fit into memory/);
});
