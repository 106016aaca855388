/**
 * Catalog requests a second over HTTP, by eight clients at one time: definitions that are created
 * and dropped, each in a transaction of its own, and reads of one by its name. SQLite syncs each
 * transaction to the disk; the Postgres is the tests' and does not wait for it (`fsync=off`).
 */
import assert from "node:assert/strict";
import { startEmbeddedPostgres } from "../../src/ground/store/testing/embedded-postgres.ts";
import { getJson, http } from "../../test/e2e/harness.ts";
import type { BenchOptions, Report } from "../report.ts";
import { generatorStatements, StreamsCluster } from "./streams-cluster.ts";

const clients = 8;

export async function benchRequests(options: BenchOptions, report: Report): Promise<void> {
  await requestsOn("sqlite", undefined, options, report);
  const postgres = await startEmbeddedPostgres();
  try {
    await requestsOn("postgres", await postgres.createDatabase(), options, report);
  } finally {
    await postgres.stop();
  }
}

async function requestsOn(
  name: string,
  store: string | undefined,
  { seconds }: BenchOptions,
  report: Report,
): Promise<void> {
  const world = await StreamsCluster.start(store === undefined ? {} : { store });
  try {
    await world.define(generatorStatements("bids", 1_000));
    const change = (client: number, turn: number) => changeSource(world.url, client, turn);
    const read = async () => void (await getJson(`${world.url}/sources/bids`));
    await perSecond(change, 1); // The code is loaded and compiled.
    report.value(`changes_${name}`, "per s", await perSecond(change, seconds));
    report.value(`reads_${name}`, "per s", await perSecond(read, seconds));
  } finally {
    await world.stop();
  }
}

/** A client creates a source in one turn and drops it in the next one. */
async function changeSource(url: string, client: number, turn: number): Promise<void> {
  const name = `source_${client}`;
  const schema = [{ name: "ts", type: "UINT64", nullable: false }];
  const response =
    turn % 2 === 0
      ? await http(`${url}/sources`, { method: "POST", body: { name, schema } })
      : await http(`${url}/sources/${name}`, { method: "DELETE" });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert(!text.includes('"dropped":null'), "it was there");
}

/** Every client has an even number of turns, so that nothing is left over. */
async function perSecond(
  request: (client: number, turn: number) => Promise<void>,
  seconds: number,
): Promise<number> {
  const beganMs = performance.now();
  const endMs = beganMs + seconds * 1_000;
  const turns = Array.from({ length: clients }, async (_, client) => {
    let turn = 0;
    for (; performance.now() < endMs || turn % 2 === 1; turn += 1) await request(client, turn);
    return turn;
  });
  const count = (await Promise.all(turns)).reduce((sum, each) => sum + each, 0);
  return (count / (performance.now() - beganMs)) * 1_000;
}
