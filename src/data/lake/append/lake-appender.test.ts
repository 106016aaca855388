import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import { silentLogger } from "../../../ground/kernel/logger.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { createPrng } from "../../../ground/kernel/prng.ts";
import { openStore, setupStore } from "../../../ground/store/index.ts";
import { checkLake } from "../core/check-lake.ts";
import type { Commit } from "../core/index.ts";
import { openDirectoryStore } from "../objects/directory-store.ts";
import { LakeStore } from "../store/lake-store.ts";
import { readLakeRows } from "../store/read-lake-rows.ts";
import type { ColumnsOfRows } from "./column-file.ts";
import { LakeAppender } from "./lake-appender.ts";

const columns = [
  { name: "id", type: "BIGINT", nullable: false, defaultValue: undefined },
  { name: "note", type: "VARCHAR", nullable: true, defaultValue: undefined },
];
const never = new AbortController().signal;
const rows: ColumnsOfRows = new Map([["id", Float64Array.of(1, 2, 3)]]);

/** `trouble` fails the commit of that number, counted from 1, before or after it was done. */
async function openAppender(
  t: TestContext,
  trouble: (attempt: number) => [OperatingError, "before" | "after"] | undefined,
) {
  const home = await mkdtemp(join(tmpdir(), "capstan-append-"));
  const config = {
    kind: "sqlite",
    path: join(home, "db"),
    clock: realClock,
    logger: silentLogger,
  } as const;
  await setupStore(config);
  const store = await openStore(config);
  t.after(async () => {
    await store.close();
    await rm(home, { recursive: true, force: true });
  });
  const catalog = new LakeStore({ store, prng: createPrng("catalog") });
  await catalog.declareDataPath(home);
  let attempts = 0;
  const appender = new LakeAppender({
    catalog: {
      current: () => catalog.current(),
      tables: (snapshot) => catalog.tables(snapshot),
      commit: async (commit: Commit) => {
        attempts += 1;
        const [error, when] = trouble(attempts) ?? [];
        if (error !== undefined && when === "before") throw error;
        const committed = await catalog.commit(commit);
        if (error !== undefined) throw error;
        return committed;
      },
    },
    objects: await openDirectoryStore(join(home, "lake")),
    stagingDir: home,
    table: { name: "events", columns },
    author: "me",
    prng: createPrng("files"),
    clock: realClock,
  });
  const count = async () => {
    const moment = { kind: "current" } as const;
    const [version] = await catalog.resolve([{ schema: undefined, name: "events", moment }]);
    return version?.files.reduce((sum, { recordCount }) => sum + recordCount, 0);
  };
  const files = async () => await readdir(join(home, "lake/main/events"));
  const check = async () => assert.deepEqual(checkLake(await store.read(readLakeRows)), []);
  return { appender, catalog, count, files, check };
}

test("[LA1] an append is done once, whether its answer was lost or it is said again", async (t) => {
  const unknown = new OperatingError("commit_unknown", "never", "the answer is lost");
  const { appender, count, files, check } = await openAppender(t, (attempt) =>
    attempt === 2 ? [unknown, "after"] : undefined,
  );
  await appender.append(rows, "first", never);
  assert.deepEqual([await count(), (await files()).length], [3, 1]);
  await appender.append(rows, "first", never);
  assert.equal(await count(), 3);
  await appender.append(rows, "second", never);
  assert.equal(await count(), 6);
  await check();
});

test("[LA2] a store that is away, and a conflict, are tried again; files of lost attempts are deleted", async (t) => {
  const busy = new OperatingError("store_busy", "backoff", "busy");
  const conflict = new OperatingError("conflict", "backoff", "columns were changed meanwhile");
  const { appender, count, files, check } = await openAppender(t, (attempt) => {
    if (attempt === 1 || attempt === 3) return [busy, "before"];
    return attempt === 4 ? [conflict, "before"] : undefined;
  });
  await appender.append(rows, "first", never);
  assert.deepEqual([await count(), (await files()).length], [3, 1]);
  await check();
});

test("[LA2] nothing is tried again once it is aborted", async (t) => {
  const busy = new OperatingError("store_busy", "backoff", "busy");
  const { appender } = await openAppender(t, () => [busy, "before"]);
  const aborter = new AbortController();
  const appending = appender.append(rows, "first", aborter.signal);
  aborter.abort();
  await assert.rejects(appending, { code: "store_busy" });
});

test("[LA3] a table with other columns is refused", async (t) => {
  const { appender, catalog } = await openAppender(t, () => undefined);
  await catalog.commit({
    readSnapshot: (await catalog.current()).snapshot,
    token: "mine",
    changes: [
      {
        kind: "createTable",
        schema: "main",
        name: "events",
        columns: columns.slice(0, 1),
        files: [],
        orReplace: false,
      },
    ],
    author: "me",
    message: "",
  });
  await assert.rejects(appender.append(rows, "first", never), { code: "already_exists" });
});
