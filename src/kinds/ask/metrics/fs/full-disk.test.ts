import assert from "node:assert/strict";
import { test } from "node:test";
import type { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import { VirtualClock } from "../../../../ground/kernel/testing/virtual-clock.ts";
import { Labels } from "../../promql/core/index.ts";
import { batchOf } from "../testing/sample-batches.ts";
import { DbFixture } from "./testing/db-fixture.ts";

/** The machine's disk; every write fails while `isFull`. */
class FullDisk {
  isFull = false;
  readonly files: Files = {
    ...realFiles,
    open: async (path, mode) => {
      this.#check();
      const file = await realFiles.open(path, mode);
      return {
        write: async (bytes, at) => {
          if (this.isFull) await file.write(bytes.subarray(0, bytes.length >> 1), at);
          this.#check();
          await file.write(bytes, at);
        },
        truncate: (length) => file.truncate(length),
        sync: () => file.sync(),
        close: () => file.close(),
      };
    },
  };

  #check(): void {
    if (this.isFull) throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
  }
}

function sampleAt(ts: number) {
  return batchOf([[Labels.of({ __name__: "m" }), { ts, value: ts }]]);
}

for (const walFileBytesMax of [1, 1_000_000]) {
  const which = walFileBytesMax === 1 ? "in a new file" : "in the open file";
  test(`[MH13] a full disk (${which}) refuses appends, ends nothing, and is over by itself`, async (t) => {
    const disk = new FullDisk();
    const clock = new VirtualClock();
    const fixture = new DbFixture(t);
    const told: (string | undefined)[] = [];
    const options = { files: disk.files, clock, walFileBytesMax };
    const onRoom = (refusal: OperatingError | undefined): void => void told.push(refusal?.code);
    const db = await fixture.open({ ...options, onRoom });
    t.after(() => db.close());
    let failure: OperatingError | undefined;
    void db.failed.then((error) => {
      failure = error;
    });
    const seen = (): unknown => fixture.readAll(db).flatMap(({ samples }) => [...samples.ts]);
    await db.append(sampleAt(1));
    disk.isFull = true;
    const refused = [2, 3].map((ts) => db.append(sampleAt(ts)));
    for (const append of refused) await assert.rejects(append, { code: "disk_full" });
    await assert.rejects(db.append(sampleAt(4)), { code: "disk_full", retry: "backoff" });
    await assert.rejects(db.seal(), { code: "disk_full" });
    assert.deepEqual(seen(), [1]);
    await clock.advance(5_000);
    disk.isFull = false;
    // The disk is a real one and takes its own time.
    await eventually("there is room again", async () => {
      await clock.advance(100);
      return told.length >= 2 ? true : undefined;
    });
    assert.deepEqual(told, ["disk_full", undefined]);
    // The log has it, as the answer says.
    assert.equal((await db.append(sampleAt(2))).duplicates, 1);
    await db.append(sampleAt(5));
    assert.deepEqual([seen(), failure], [[1, 2, 3, 5], undefined]);
    const crashed = fixture.crashCopy(t);
    await db.close();
    const again = await crashed.open();
    assert.deepEqual(
      crashed.readAll(again).flatMap(({ samples }) => [...samples.ts]),
      [1, 2, 3, 5],
    );
    await again.close();
  });
}
