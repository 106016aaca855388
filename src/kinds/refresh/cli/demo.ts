/** A small demo shop: two tables, and three dynamic tables over them; live, a stream besides. */

import { runStatement } from "../../../data/statements/index.ts";
import type { CommandContext } from "../../../ground/command/index.ts";
import type { Clock } from "../../../ground/kernel/clock.ts";
import { sleep, within } from "../../../ground/kernel/clock.ts";
import { removeDemoStream, startDemoStream, stopDemoStream } from "./demo-stream.ts";

export interface DemoOptions {
  readonly live?: boolean;
  readonly remove?: boolean;
}

const tables = ["demo_customers", "demo_orders"];
/** In the order in which they can be dropped: readers first. */
const dynamicTables = ["demo_best_regions", "demo_customer_totals", "demo_revenue"];

const creation: readonly (readonly [what: string, sql: string])[] = [
  [
    "500 customers",
    `CREATE TABLE demo_customers AS SELECT range AS customer_id, 'customer ' || range AS name,
     ['north', 'south', 'east', 'west'][1 + range % 4] AS region FROM range(500)`,
  ],
  ["20,000 orders", `CREATE TABLE demo_orders AS ${ordersSql(0, 20_000)}`],
  [
    "demo_revenue: by category, 5 seconds fresh",
    `CREATE DYNAMIC TABLE demo_revenue TARGET_LAG = '5 seconds' AS
     SELECT category, sum(amount) AS revenue, count(*) AS orders FROM demo_orders GROUP BY category`,
  ],
  [
    "demo_customer_totals: a join, fresh when its reader is",
    `CREATE DYNAMIC TABLE demo_customer_totals TARGET_LAG = DOWNSTREAM AS
     SELECT c.region, c.name, sum(o.amount) AS total FROM demo_orders o
     JOIN demo_customers c ON o.customer_id = c.customer_id GROUP BY ALL`,
  ],
  [
    "demo_best_regions: made of that, 10 seconds fresh",
    `CREATE DYNAMIC TABLE demo_best_regions TARGET_LAG = '10 seconds' AS
     SELECT region, count(*) AS customers, max(total) AS best FROM demo_customer_totals GROUP BY region`,
  ],
];

export async function runDemo(
  context: CommandContext,
  options: DemoOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { terminal } = context;
  const quiet = { ...context, terminal: { ...terminal, out: silent, err: silent } };
  const run = (sql: string): Promise<void> => runStatement(quiet, sql, undefined, signal);
  if (options.remove === true) {
    await removeDemoStream(run, clock);
    for (const table of dynamicTables) await run(`DROP DYNAMIC TABLE IF EXISTS ${table}`);
    for (const table of tables) await run(`DROP TABLE IF EXISTS ${table}`);
    terminal.out("The demo's tables are gone.\n");
    return;
  }
  for (const [what, sql] of creation) {
    // A table that already exists is left as it is.
    await run(sql.replace(/^CREATE (DYNAMIC )?TABLE/, "$& IF NOT EXISTS"));
    terminal.out(`${what}\n`);
  }
  terminal.out("Look at the dashboard's Tables page, or: capstan sql -c 'FROM demo_revenue'\n");
  if (options.live !== true) return;
  await startDemoStream(run);
  terminal.out(
    "demo_popular_pages: of a stream, demo_count_views, that counts clicks each second\n",
  );
  terminal.out("Orders come and change, and clicks are counted, until Ctrl-C.\n");
  try {
    await changeOrders(run, clock, signal);
  } finally {
    // Ctrl-C has aborted everything else; this is short.
    await within(clock, stopMsMax, (late) =>
      stopDemoStream((sql) => runStatement(quiet, sql, undefined, late)),
    );
  }
}

const stopMsMax = 5_000;

async function changeOrders(
  run: (sql: string) => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (let from = 20_000; !signal.aborted; from += 50) {
    await run(`INSERT INTO demo_orders ${ordersSql(from, from + 50)}`);
    if (from % 250 === 0) {
      await run(`UPDATE demo_orders SET amount = amount + 1 WHERE order_id % 997 = ${from % 997}`);
    }
    await sleep(clock, 1_000, signal);
  }
}

/** Deterministic: the same range gives the same orders. */
function ordersSql(from: number, to: number): string {
  return `SELECT range AS order_id, range * 7919 % 500 AS customer_id,
    ['books', 'games', 'tea', 'tools', 'toys'][1 + range * 31 % 5] AS category,
    ((range * 37 % 9000) / 100)::DECIMAL(10, 2) AS amount, now()::TIMESTAMP AS ordered_at FROM range(${from}, ${to})`;
}

function silent(): void {}
