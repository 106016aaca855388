/** The contract on a SQLite file, and in memory, as the simulator has it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { silentLogger } from "../../kernel/logger.ts";
import { realClock } from "../../kernel/node/real-clock.ts";
import { createSharedSqlite, openSimStore, openStore, setupStore } from "../../store/index.ts";
import { testLoadStore } from "./load.contract.ts";

const directory = mkdtempSync(join(tmpdir(), "capstan-load-"));
after(() => rmSync(directory, { recursive: true, force: true }));
let places = 0;

testLoadStore({
  dialect: "sqlite",
  isShared: true,
  createPlace: async () => {
    places += 1;
    const path = join(directory, `${places}.db`);
    const config = { kind: "sqlite", path, clock: realClock, logger: silentLogger } as const;
    return {
      url: path,
      setup: (options) => setupStore({ ...config, ...options }),
      open: (options) => openStore({ ...config, ...options }),
    };
  },
});

testLoadStore(
  {
    dialect: "sqlite",
    isShared: false,
    createPlace: async () => {
      const database = createSharedSqlite(() => realClock.wallMs());
      return {
        url: "",
        setup: async () => ({ from: 0, to: 0 }),
        open: async () => openSimStore({ database }),
      };
    },
  },
  "SQLite in memory",
);
