/** The contract on a real Postgres. */
import { after, before } from "node:test";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { createPrng } from "../../kernel/prng.ts";
import { openStore, setupStore } from "../../store/index.ts";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../store/testing/embedded-postgres.ts";
import { testLoadStore } from "./load.contract.ts";

let postgres: EmbeddedPostgres;
before(async () => {
  postgres = await startEmbeddedPostgres();
});
after(() => postgres.stop());

testLoadStore({
  dialect: "postgres",
  isShared: true,
  createPlace: async () => {
    const url = await postgres.createDatabase();
    const parts = { clock: realClock, prng: createPrng("test"), logger: silentLogger };
    const config = { kind: "postgres", url, ...parts } as const;
    return {
      url,
      setup: (options) => setupStore({ ...config, ...options }),
      open: (options) => openStore({ ...config, ...options }),
    };
  },
});
