/** The contract on a SQLite file. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { silentLogger } from "../../../kernel/logger.ts";
import { realClock } from "../../../kernel/node/real-clock.ts";
import { openStore, setupStore } from "../../../store/index.ts";
import { testTemplates } from "./templates.contract.ts";

const directory = mkdtempSync(join(tmpdir(), "capstan-templates-"));
after(() => rmSync(directory, { recursive: true, force: true }));
let places = 0;

testTemplates({
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
