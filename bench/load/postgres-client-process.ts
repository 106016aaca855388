/**
 * One process of closed loops, at the order of `postgres-client.ts`. It says when it is warm, goes
 * on, and counts from the next message, so that all processes count at the same time.
 */
import { once } from "node:events";
import { realClock } from "../../src/ground/kernel/node/real-clock.ts";
import { createPrng, type Prng } from "../../src/ground/kernel/prng.ts";
import type {
  Operation,
  OperationStatement,
  ParameterValue,
} from "../../src/kinds/load/core/operation.ts";
import type { PreparedOperation } from "../../src/kinds/load/core/target.ts";
import { createPostgresTarget } from "../../src/kinds/load/targets/postgres/postgres-target.ts";

export interface ClientOrder {
  readonly url: string;
  readonly workload: "select" | "tpcb";
  readonly connections: number;
  readonly depth: number;
  readonly seconds: number;
  /** Executions before counting starts: new code is compiled first, slowly on a busy machine. */
  readonly warmupCount: number;
  readonly scale: number;
  readonly seed: string;
}

export interface ClientResult {
  readonly count: number;
  readonly seconds: number;
  readonly cpuMicroseconds: number;
}

const names = ["aid", "bid", "tid", "delta"];

const operations: Readonly<Record<ClientOrder["workload"], Operation>> = {
  select: {
    name: "select",
    kind: "POINT_LOOKUP",
    parameters: parametersOf(["aid"]),
    statements: [statementOf("SELECT abalance FROM pgbench_accounts WHERE aid = :aid")],
    isTransaction: false,
  },
  tpcb: {
    name: "tpcb",
    kind: "CUSTOM",
    parameters: parametersOf(names),
    statements: [
      "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid",
      "SELECT abalance FROM pgbench_accounts WHERE aid = :aid",
      "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid",
      "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid",
      "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP)",
    ].map(statementOf),
    isTransaction: true,
  },
};

function parametersOf(of: readonly string[]): Operation["parameters"] {
  return of.map((name) => ({ name, type: "bigint" }));
}

function statementOf(sql: string): OperationStatement {
  const parts = sql.split(/:(\w+)/);
  return {
    texts: parts.filter((_, at) => at % 2 === 0),
    parameters: parts.filter((_, at) => at % 2 === 1).map((name) => names.indexOf(name)),
  };
}

function fillValues(values: ParameterValue[], prng: Prng, { workload, scale }: ClientOrder): void {
  values[0] = 1 + prng.below(100_000 * scale);
  if (workload === "select") return;
  values[1] = 1 + prng.below(scale);
  values[2] = 1 + prng.below(10 * scale);
  values[3] = prng.below(10_001) - 5000;
}

async function run(order: ClientOrder): Promise<void> {
  const target = createPostgresTarget(order.url, realClock);
  const prepared: PreparedOperation[] = [];
  const { signal } = new AbortController();
  for (let index = 0; index < order.connections; index += 1) {
    const connection = await target.connect(order.depth, signal);
    prepared.push(await connection.prepare(operations[order.workload]));
  }
  const prng = createPrng(order.seed);
  const values: ParameterValue[] = [];
  let startMs = 0;
  let endMs = Number.POSITIVE_INFINITY;
  let cpuStart = process.cpuUsage();
  let count = -order.warmupCount;
  let busy = 0;
  const finished = Promise.withResolvers<void>();
  process.once("message", () => {
    startMs = performance.now();
    endMs = startMs + order.seconds * 1000;
    cpuStart = process.cpuUsage();
    count = 0;
  });
  for (const operation of prepared) {
    const done: Parameters<PreparedOperation["execute"]>[1] = (failure) => {
      if (failure !== undefined) throw new Error(`${failure.code}: ${failure.message}`);
      count += 1;
      const nowMs = performance.now();
      if (count === 0) process.send?.("warm");
      if (nowMs < endMs) {
        fillValues(values, prng, order);
        operation.execute(values, done);
      } else {
        busy -= 1;
        if (busy === 0) finished.resolve();
      }
    };
    for (let slot = 0; slot < order.depth; slot += 1) {
      busy += 1;
      fillValues(values, prng, order);
      operation.execute(values, done);
    }
  }
  await finished.promise;
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpuStart);
  const result: ClientResult = { count, seconds, cpuMicroseconds: user + system };
  process.send?.(result);
  await target.close();
  process.disconnect();
}

process.once("disconnect", () => process.exit()); // Nobody is left to drive for.
const [order] = (await once(process, "message")) as [ClientOrder];
await run(order);
