import assert from "node:assert/strict";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { testFiles } from "../files.contract.ts";
import type { Files } from "../files.ts";
import { realFiles } from "./real-files.ts";

async function makeRoot(): Promise<{ readonly root: string; close(): Promise<void> }> {
  const root = await mkdtemp(join(tmpdir(), "capstan-files-"));
  return { root, close: () => rm(root, { recursive: true, force: true }) };
}

testFiles("the machine's", async () => ({ files: realFiles, ...(await makeRoot()) }));

type Sync = (this: unknown) => Promise<void>;

/** Counts the calls of `name` on every file handle, and can make later calls fail. */
async function watchSync(t: TestContext, path: string, name: "sync" | "datasync") {
  const handle = await open(path, "r");
  const prototype = Object.getPrototypeOf(handle) as Record<typeof name, Sync>;
  await handle.close();
  const original = prototype[name];
  const watched = { calls: 0, failure: undefined as Error | undefined };
  prototype[name] = async function (this: unknown) {
    watched.calls += 1;
    if (watched.failure !== undefined) throw watched.failure;
    await original.call(this);
  };
  t.after(() => {
    prototype[name] = original;
  });
  return watched;
}

const syncs: readonly {
  readonly what: string;
  readonly call: "sync" | "datasync";
  readonly run: (files: Files, root: string) => Promise<void>;
}[] = [
  {
    what: "an open file",
    call: "datasync",
    run: async (files, root) => {
      const file = await files.open(join(root, "f"), "change");
      try {
        await file.write(Buffer.from("y"), 0);
        await file.sync();
      } finally {
        await file.close();
      }
    },
  },
  { what: "a file by its name", call: "sync", run: (files, root) => files.sync(join(root, "f")) },
  { what: "a directory", call: "sync", run: (files, root) => files.sync(root) },
];
for (const { what, call, run } of syncs) {
  test(`[MH17] the machine's files: a sync of ${what} asks the machine for it, and fails with it`, async (t) => {
    const { root, close } = await makeRoot();
    t.after(close);
    await writeFile(join(root, "f"), "x");
    const watched = await watchSync(t, root, call);
    await run(realFiles, root);
    assert.equal(watched.calls, 1);
    watched.failure = Object.assign(new Error("the disk is broken"), { code: "EIO" });
    await assert.rejects(run(realFiles, root), { code: "EIO" });
  });
}
