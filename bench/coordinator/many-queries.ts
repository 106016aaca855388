/**
 * Many small queries at one time: a generator of a row a second, a filter, and a sink that drops
 * what it gets. Every other query reads on one worker and writes on the other one; those between
 * have one fragment.
 */
import assert from "node:assert/strict";
import { getJson, waitFor } from "../../test/e2e/harness.ts";
import { type StreamsCluster, workerNames } from "./streams-cluster.ts";

const clients = 8;
/** A page of the API. */
const pageMax = 1_000;

export async function defineMany(world: StreamsCluster): Promise<void> {
  const sources = workerNames.flatMap((worker, index) => [
    `CREATE LOGICAL SOURCE ticks_${index}(ts UINT64)`,
    `CREATE PHYSICAL SOURCE FOR ticks_${index} TYPE Generator SET(
      '${worker}' AS "SOURCE".HOST, 'SEQUENCE UINT64 0 1000000000 1' AS "SOURCE".GENERATOR_SCHEMA,
      'NONE' AS "SOURCE".STOP_GENERATOR_WHEN_SEQUENCE_FINISHES, 1 AS "SOURCE".ROWS_PER_SECOND)`,
  ]);
  const sink = `CREATE SINK nothing TYPE Void SET('${workerNames[1]}' AS "SINK".HOST)`;
  await world.define([...sources, sink]);
}

export function smallQuery(number: number): string {
  const source = `ticks_${number % 2}`;
  return `SELECT ts FROM ${source} WHERE ts % UINT64(2) = UINT64(0) INTO nothing`;
}

/** Resolves when all of them are accepted. */
export async function createMany(
  world: StreamsCluster,
  names: readonly string[],
  settings = "",
): Promise<void> {
  await byClients(names, async (name, index) => {
    const statement = smallQuery(index) + settings;
    await world.accept("POST", "queries", { name, statement });
  });
}

/** Resolves when all drops are accepted. */
export async function dropMany(world: StreamsCluster, names: readonly string[]): Promise<void> {
  await byClients(names, (name) => world.accept("DELETE", `queries/${name}`));
}

export function namesOf(count: number): readonly string[] {
  assert(count <= pageMax, `at most ${pageMax} queries fit a page`);
  return Array.from({ length: count }, (_, index) => `query_${index}`);
}

interface Listed {
  readonly name: string;
  readonly state: string;
  readonly epoch: number;
}

export async function listedQueries({ url }: StreamsCluster): Promise<readonly Listed[]> {
  const path = `${url}/queries?limit=${pageMax}`;
  return (await getJson<{ items: readonly Listed[] }>(path)).items;
}

export async function waitUntilRunning(world: StreamsCluster, count: number): Promise<void> {
  await waitFor(`${count} queries to run`, async () => {
    const queries = await listedQueries(world);
    const isAll = queries.length === count && queries.every(({ state }) => state === "RUNNING");
    return isAll ? true : undefined;
  });
}

export async function waitUntilGone(world: StreamsCluster): Promise<void> {
  await waitFor("all queries to be gone", async () =>
    (await listedQueries(world)).length === 0 ? true : undefined,
  );
}

async function byClients(
  names: readonly string[],
  run: (name: string, index: number) => Promise<void>,
): Promise<void> {
  const left = names.entries();
  const client = async () => {
    for (const [index, name] of left) await run(name, index);
  };
  await Promise.all(Array.from({ length: clients }, client));
}
