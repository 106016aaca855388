import { after, before, test } from "node:test";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../src/ground/store/testing/embedded-postgres.ts";
import { stopEverything } from "./harness.ts";
import { runKillLoop } from "./kill-loop.ts";

let postgres: EmbeddedPostgres;
before(async () => {
  postgres = await startEmbeddedPostgres();
});
after(async () => {
  await stopEverything();
  await postgres.stop();
});

test("[TE2] on Postgres, too, killed processes lose no row and publish nothing twice", async (t) => {
  t.diagnostic(await runKillLoop({ kills: 5, store: await postgres.createDatabase() }));
});
