/**
 * The simulated disk, and the disk suites in short: `npm run sim -- --suite log` and
 * `--suite disk` do more.
 * That each planted bug of theirs is caught is for `sim.test.ts` to say.
 */
import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { test } from "node:test";
import { testFiles, writeText } from "../../src/ground/kernel/files.contract.ts";
import { createPrng } from "../../src/ground/kernel/prng.ts";
import { emptyRecord, encodeWalRecord } from "../../src/kinds/ask/metrics/core/head/wal-record.ts";
import { type LogRepair, repairLog } from "../../src/kinds/ask/metrics/fs/repair-log.ts";
import { encodeFrames, frameBytes } from "../../src/kinds/ask/metrics/fs/wal-frames.ts";
import { Life } from "../engine/life.ts";
import { Timeline } from "../engine/timeline.ts";
import type { DiskSuite } from "../plan.ts";
import { runSeeds } from "../run-seeds.ts";
import { DiskImage } from "./disk-image.ts";
import { type DiskFaults, SimFiles } from "./sim-files.ts";

const seedCount = 10;

/** What has to have happened somewhere in these seeds. */
const both = [
  "disk: killed at sync",
  "disk: killed at write",
  "disk: power lost at names",
  "disk: power lost at sync",
  "disk: power lost at write",
  "disk: sync of a file: failed",
  "disk: write: no room",
];
const coverage: Record<DiskSuite, readonly string[]> = {
  log: [
    "log: acknowledged",
    "log: compacted",
    "log: listed",
    "log: refused, disk_full",
    "log: refused, store_unavailable",
    "log: sealed",
    "log: there after a crash",
  ],
  disk: [
    "lake: acknowledged, append",
    "lake: acknowledged, write",
    "lake: refused, commit_unknown",
    "lake: refused, disk_full",
    "lake: rewritten",
  ],
};

async function runSuite(suite: DiskSuite): Promise<void> {
  const jobs = availableParallelism();
  const options = { start: 1, count: seedCount, jobs, suite };
  const totals = await runSeeds(options);
  const shown = totals.failed.map(({ seed, violation }) => ({ seed, ...violation }));
  assert.deepEqual(shown, [], `replay with: npm run sim -- --${suite} --seed N --trace`);
  const never = [...both, ...coverage[suite]].filter((name) => totals.counters.get(name) === 0);
  assert.deepEqual(never, [], "these never happened, so they were not tested");
  const again = await runSeeds({ ...options, count: 2, checkDeterminism: true });
  assert.deepEqual(again.undetermined, []);
}

test(
  `[MH17] ${seedCount} seeds of the log: whatever the disk does, what was acknowledged is there`,
  { timeout: 480_000 },
  () => runSuite("log"),
);

test(
  `[LO1] ${seedCount} seeds of the lake: whatever the disk does, what was committed is there`,
  { timeout: 480_000 },
  () => runSuite("disk"),
);

interface Disk {
  readonly image: DiskImage;
  readonly files: SimFiles;
  readonly faults: DiskFaults;
  close(): Promise<void>;
}

/**
 * A disk whose calls are answered as fast as they come. `endsAt`: the call at which its power goes,
 * and `onLoss` what comes then.
 */
function openDisk(
  seed: string,
  image = new DiskImage(),
  endsAt = Number.POSITIVE_INFINITY,
  onLoss: () => void = () => assert.fail("nobody pulled the plug"),
): Disk {
  const prng = createPrng(seed);
  const timeline = new Timeline(prng.fork("timeline"));
  let callsLeft = endsAt;
  const faults = { roomBytes: Number.POSITIVE_INFINITY, syncFailures: 0, writeFailures: 0 };
  const life = new Life("p", 1, timeline, prng, (_, thrown) => {
    throw thrown;
  });
  let pump = setImmediate(function step() {
    while (timeline.step(timeline.nowMs + 100));
    pump = setImmediate(step);
  });
  const files = new SimFiles({
    image,
    life,
    timeline,
    prng,
    faults,
    onCall: () => {
      callsLeft -= 1;
      return callsLeft === 0;
    },
    onFault: () => undefined,
    losePower: () => {
      life.end();
      image.losePower(prng);
      onLoss();
    },
  });
  return { image, files, faults, close: async () => clearImmediate(pump) };
}

testFiles("a simulated disk's", async () => {
  const { files, close } = openDisk("contract");
  await files.makeDirectory("/root");
  return { files, root: "/root", close };
});

async function powerLosses(
  prepare: (disk: Disk) => Promise<void>,
  look: (text: string | undefined) => string,
): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  for (let seed = 0; seed < 60; seed += 1) {
    const disk = openDisk(`loss-${seed}`);
    await disk.files.makeDirectory("/d");
    await disk.files.sync("/");
    await prepare(disk);
    disk.image.losePower(createPrng(`power-${seed}`));
    const isThere = (await disk.files.stat("/d/f")) !== undefined;
    seen.add(look(isThere ? (await disk.files.read("/d/f")).toString("latin1") : undefined));
    await disk.close();
  }
  return seen;
}

test("a power loss takes, keeps or tears what was not synced, and nothing else", async () => {
  const unsynced = await powerLosses(
    async ({ files }) => {
      await writeText(files, "/d/f", "aaaa");
      await files.sync("/d/f");
      await files.sync("/d");
      await writeText(files, "/d/f", "bbbb");
    },
    (text) => text ?? "gone",
  );
  assert.ok(unsynced.has("aaaa") && unsynced.has("aaaabbbb"), [...unsynced].join());
  assert.ok([...unsynced].some((text) => text.length > 4 && text !== "aaaabbbb"));
  assert.ok([...unsynced].every((text) => text.startsWith("aaaa")));
});

test("a power loss takes a name that was not synced, and nothing else", async () => {
  const synced = async ({ files }: Disk): Promise<void> => {
    await writeText(files, "/d/f", "old");
    await files.sync("/d/f");
    await files.sync("/d");
  };
  const unnamed = await powerLosses(
    async ({ files }) => {
      await writeText(files, "/d/f", "new");
      await files.sync("/d/f");
    },
    (text) => text ?? "gone",
  );
  assert.deepEqual(unnamed, new Set(["gone", "new"]));
  const replaced = await powerLosses(
    async (disk) => {
      await synced(disk);
      await writeText(disk.files, "/d/g", "new");
      await disk.files.sync("/d/g");
      await disk.files.rename("/d/g", "/d/f");
    },
    (text) => text ?? "gone",
  );
  assert.deepEqual(replaced, new Set(["old", "new"]));
  const removed = await powerLosses(
    async (disk) => {
      await synced(disk);
      await disk.files.unlink("/d/f");
    },
    (text) => text ?? "gone",
  );
  assert.deepEqual(removed, new Set(["old", "gone"]));
});

test("what a failed sync lost does not come back with the next one", async () => {
  const seen = await powerLosses(
    async ({ files, faults }) => {
      await writeText(files, "/d/f", "");
      await files.sync("/d");
      await writeText(files, "/d/f", "lost");
      faults.syncFailures = 1;
      await assert.rejects(files.sync("/d/f"), { code: "EIO" });
      assert.equal((await files.read("/d/f")).toString(), "lost");
      await files.sync("/d/f");
    },
    (text) => (text === "lost" ? "all" : "less"),
  );
  assert.deepEqual(seen, new Set(["all", "less"]));
});

test("a full disk takes a part of a write, and the rest once there is room", async () => {
  const { files, faults, close } = openDisk("full");
  await files.makeDirectory("/d");
  const file = await files.open("/d/f", "new");
  faults.roomBytes = 2;
  await assert.rejects(file.write(Buffer.from("abcd"), 0), { code: "ENOSPC" });
  assert.ok(((await files.stat("/d/f"))?.bytes ?? 9) < 4);
  faults.roomBytes = 100;
  await file.write(Buffer.from("abcd"), 0);
  assert.equal((await files.read("/d/f")).toString(), "abcd");
  await close();
});

/**
 * Three records in a file, of which the second is damaged, and one in another; between them one is
 * missing.
 */
async function writeDamagedLog(files: SimFiles): Promise<void> {
  await files.makeDirectory("/wal");
  const record = encodeWalRecord(emptyRecord);
  const three = encodeFrames([record, record, record], 0);
  three[frameBytes + record.length + 8] = 99;
  for (const [name, bytes] of [
    ["1-000000.wal", three],
    ["1-000002.wal", encodeFrames([record], 0)],
  ] as const) {
    const file = await files.open(`/wal/${name}`, "new");
    await file.write(bytes, 0);
    await file.sync();
  }
  await files.sync("/wal");
  await files.sync("/");
}

async function repairAgain(image: DiskImage, seed: string): Promise<LogRepair> {
  const { files, close } = openDisk(seed, image);
  const repair = await repairLog(files, "/wal");
  await close();
  return repair;
}

test("[MH23] a repair that loses its power at any moment is done once more, and nothing good is lost", async () => {
  let isDone = false;
  for (let endsAt = 1; !isDone; endsAt += 1) {
    const seed = `repair-${endsAt}`;
    const prepared = openDisk(seed);
    await writeDamagedLog(prepared.files);
    await prepared.close();
    const { image } = prepared;
    const lost = Promise.withResolvers<undefined>();
    const disk = openDisk(`${seed}-1`, image, endsAt, () => lost.resolve(undefined));
    const repair = await Promise.race([repairLog(disk.files, "/wal"), lost.promise]);
    await disk.close();
    isDone = repair !== undefined;
    if (isDone) {
      assert.ok(image.isSafe("/wal/damaged-1"), "the damaged file is kept aside");
      image.losePower(createPrng(seed)); // What it said is so for good.
    }
    const again = await repairAgain(image, `${seed}-2`);
    assert.equal(again.recordCount, 3, `after call ${endsAt}`);
    if (isDone) assert.deepEqual(again.damage, []);
    assert.deepEqual((await repairAgain(image, `${seed}-3`)).damage, []);
  }
});
