/** `CAPSTAN_TEST_KILLS=200` kills as often, `CAPSTAN_TEST_SEED` decides when. */
import { after, before, test } from "node:test";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../src/store/testing/embedded-postgres.ts";
import { stopEverything } from "./harness.ts";
import { runKillLoop } from "./kill-loop.ts";

const { CAPSTAN_TEST_KILLS: killsWanted, CAPSTAN_TEST_SEED: seedWanted } = process.env;
const seed = seedWanted ?? "1";
const kills = killsWanted === undefined ? undefined : Number(killsWanted);

let postgres: EmbeddedPostgres;
before(async () => {
  postgres = await startEmbeddedPostgres();
});
after(async () => {
  await stopEverything();
  await postgres.stop();
});

test("[TE2] processes killed at any moment lose no row and publish nothing twice", async (t) => {
  t.diagnostic(await runKillLoop({ kills: kills ?? 30, seed }));
});

test("[TE2] the same on Postgres", async (t) => {
  const store = await postgres.createDatabase();
  t.diagnostic(await runKillLoop({ kills: kills ?? 8, seed, store }));
});
