/**
 * The databases that contract suites run on: SQLite files, SQLite in memory as in the simulator,
 * and a real Postgres. Each registers hooks of the test file that clean up after its tests.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { watchedRefreshTables } from "../../../kinds/refresh/core/tables.ts";
import { watchedStreamTables } from "../../../kinds/stream/catalog/core/tables.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { createPrng } from "../../kernel/prng.ts";
import { openStore, type StoreConfig, setupStore } from "../setup/open-store.ts";
import { createSharedSqlite, openSimStore } from "../sqlite/sim-store.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "./embedded-postgres.ts";
import type { StoreFixture, StorePlace } from "./store-fixture.ts";

const watched = { ...watchedRefreshTables, ...watchedStreamTables };
const parts = { clock: realClock, prng: createPrng("test"), logger: silentLogger };

export function sqliteFixture(): StoreFixture {
  const directory = mkdtempSync(join(tmpdir(), "capstan-store-"));
  after(() => rmSync(directory, { recursive: true, force: true }));
  let places = 0;
  return {
    dialect: "sqlite",
    isShared: true,
    createPlace: async () => {
      places += 1;
      const path = join(directory, `${places}.db`);
      return placeOf(path, { kind: "sqlite", path, ...parts });
    },
  };
}

/** Other processes cannot reach it, and it needs no setup. */
export function memoryFixture(): StoreFixture {
  return {
    dialect: "sqlite",
    isShared: false,
    createPlace: async () => {
      const database = createSharedSqlite(() => realClock.wallMs());
      return {
        url: "",
        setup: async () => ({ from: 0, to: 0 }),
        open: async (options) => openSimStore({ database, watched, ...options }),
      };
    },
  };
}

/** `server` is available once the tests run. */
export function postgresFixture(): StoreFixture & { server(): EmbeddedPostgres } {
  let postgres: EmbeddedPostgres;
  let original: Promise<string> | undefined;
  before(async () => {
    postgres = await startEmbeddedPostgres();
  });
  after(() => postgres.stop());
  const place = (url: string) => placeOf(url, { kind: "postgres", url, ...parts });
  const createOriginal = async (): Promise<string> => {
    const url = await postgres.createDatabase();
    await place(url).setup();
    return url;
  };
  return {
    server: () => postgres,
    dialect: "postgres",
    isShared: true,
    createPlace: async () => place(await postgres.createDatabase()),
    // A copy takes two thirds of the time of a setup, and there are hundreds.
    createStore: async () => {
      original ??= createOriginal();
      return place(await postgres.createDatabase(await original));
    },
  };
}

function placeOf(url: string, config: StoreConfig): StorePlace {
  return {
    url,
    setup: (options) => setupStore({ ...config, ...options }),
    open: (options) => openStore({ ...config, watched, ...options }),
  };
}
