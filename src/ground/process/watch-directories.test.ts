import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { HealthBoard } from "../kernel/health.ts";
import { realClock } from "../kernel/node/real-clock.ts";
import { until } from "../kernel/testing/eventually.ts";
import { recordingLogger } from "../kernel/testing/recording-logger.ts";
import { watchDirectories } from "./watch-directories.ts";

test("[PR13] a directory or a file that is gone, or is another one, makes the process not ready until it is back", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "capstan-watch-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const [dir, file] = [join(root, "data"), join(root, "data", "store.sqlite")];
  mkdirSync(dir);
  writeFileSync(file, "x");
  const health = new HealthBoard({ clock: realClock });
  const watch = await watchDirectories({
    places: [
      { part: "data_dir", name: "the data directory", path: dir },
      { part: "store_file", name: "the store's file", path: file },
      { part: "later", name: "what comes later", path: join(dir, "later") },
    ],
    health,
    clock: realClock,
    logger: recordingLogger([]),
    everyMs: 5,
  });
  t.after(() => watch.close());
  assert.equal(health.blocker(), undefined);
  await watch.require();

  renameSync(dir, `${dir}-moved`);
  await assert.rejects(watch.require(), { code: "data_dir_unusable" }, "at once");
  await until(() => health.parts().filter(({ state }) => state === "failed").length === 2);
  assert.match(health.blocker()?.reason ?? "", /^the data directory is gone/);
  await assert.rejects(watch.require(), { code: "data_dir_unusable", message: /is gone/ });

  mkdirSync(dir);
  await until(() => health.blocker()?.reason?.includes("another one") === true);

  rmSync(dir, { recursive: true });
  renameSync(`${dir}-moved`, dir);
  await until(() => health.blocker() === undefined);
  await watch.require();

  rmSync(file);
  await until(() => health.blocker()?.name === "store_file");
  assert.equal(health.parts().find(({ name }) => name === "data_dir")?.state, "ok");
  mkdirSync(join(dir, "later"));
  await until(() => health.parts().some(({ name }) => name === "later"));
});
