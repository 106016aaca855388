import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import {
  type RecordedLine,
  recordingLogger,
} from "../../../ground/kernel/testing/recording-logger.ts";
import { VirtualClock } from "../../../ground/kernel/testing/virtual-clock.ts";
import { DiskBudget, type Eviction } from "../../../ground/work/core/index.ts";
import type { LocalCopy } from "../core/index.ts";
import { type DownloadCache, openDownloadCache } from "./download-cache.ts";

/** A cache of 1,000 bytes over a lake whose files contain their names, repeated. */
class World {
  readonly clock = new VirtualClock();
  readonly downloads: string[] = [];
  readonly evictedOther: Eviction[] = [];
  readonly events: string[] = [];
  readonly lines: RecordedLine[] = [];
  budget: DiskBudget = newBudget();
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  open(budget = newBudget()): Promise<DownloadCache> {
    this.budget = budget;
    return openDownloadCache({
      dir: this.dir,
      budget,
      clock: this.clock,
      logger: recordingLogger(this.lines),
      onEvictedOther: (eviction) => this.evictedOther.push(eviction),
      observer: {
        lookedUp: (hit) => this.events.push(hit ? "hit" : "miss"),
        downloadEnded: (outcome, _durationMs, bytes) => this.events.push(`${outcome} ${bytes}`),
      },
    });
  }

  get(
    cache: DownloadCache,
    path: string,
    sizeBytes: number,
    signal?: AbortSignal,
    gate?: Promise<void>,
  ): Promise<LocalCopy> {
    const file = { key: path, place: path, sizeBytes, fields: { query_id: "q-1" } };
    const download = async (localPath: string, ended: AbortSignal): Promise<void> => {
      this.downloads.push(path);
      await writeFile(localPath, bytesOf(path, sizeBytes), { flag: "wx" });
      if (gate !== undefined) await Promise.race([gate, abortOf(ended)]);
    };
    return cache.get(file, download, signal);
  }

  async copies(): Promise<number[]> {
    const sizes = (await readdir(this.dir)).map((name) =>
      Number(/-(\d+)(?:\.parquet)?$/.exec(name)?.[1]),
    );
    return sizes.sort((left, right) => left - right);
  }
}

function newBudget(capacityBytes = 1_000): DiskBudget {
  return new DiskBudget({ capacityBytes, artifactFloorBytes: 0, highRatio: 1, lowRatio: 1 });
}

function bytesOf(path: string, sizeBytes: number): Buffer {
  return Buffer.alloc(sizeBytes, path);
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = (): void => reject(Object.assign(new Error("aborted"), { name: "AbortError" }));
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}

function check(name: string, body: (world: World) => Promise<void>): void {
  test(name, { timeout: 240_000 }, async () => {
    const dir = await mkdtemp(join(tmpdir(), "capstan-cache-"));
    try {
      await body(new World(dir));
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });
}

async function use(world: World, cache: DownloadCache, path: string, size: number): Promise<void> {
  const copy = await world.get(cache, path, size);
  assert.ok((await readFile(copy.localPath)).equals(bytesOf(path, size)));
  copy.release();
}

check("[LO15] a file is downloaded once, and counted", async (world) => {
  const cache = await world.open();
  await use(world, cache, "a", 100);
  await use(world, cache, "a", 100);
  assert.deepEqual(world.downloads, ["a"]);
  assert.deepEqual(world.events, ["done 100", "miss", "hit"]);
  assert.equal(cache.usedBytes(), 100);
});

check("[LO15] those who want it at the same time share one download", async (world) => {
  const cache = await world.open();
  const gate = Promise.withResolvers<void>();
  const readers = [1, 2, 3].map(() => world.get(cache, "a", 100, undefined, gate.promise));
  gate.resolve();
  const copies = await Promise.all(readers);
  assert.deepEqual(world.downloads, ["a"]);
  for (const copy of copies) copy.release();
});

check(
  "[LO15] one who leaves does not take the download along; the last one does",
  async (world) => {
    const cache = await world.open();
    const never = new Promise<void>(() => undefined);
    const [one, other] = [new AbortController(), new AbortController()];
    const first = world.get(cache, "a", 100, one.signal, never);
    const second = world.get(cache, "a", 100, other.signal);
    one.abort();
    await assert.rejects(first, { code: "cancelled" });
    assert.equal(cache.usedBytes(), 100, "still wanted");
    other.abort();
    await assert.rejects(second, { code: "cancelled" });
    assert.equal(cache.usedBytes(), 0);
    await use(world, cache, "a", 100); // The aborted download may still be ending.
    await cache.close();
    assert.deepEqual(world.downloads, ["a", "a"]);
    assert.deepEqual(await world.copies(), [100]);
  },
);

check(
  "[LO15] a download that fails fails for all who wait, leaves nothing, and is tried anew",
  async (world) => {
    const cache = await world.open();
    const file = { key: "a", place: "main/a", sizeBytes: 10 };
    const fail = async (localPath: string): Promise<void> => {
      await writeFile(localPath, "half");
      throw new OperatingError("store_unavailable", "backoff", "it broke");
    };
    const waiting = [cache.get(file, fail), cache.get(file, fail)];
    for (const reader of waiting) await assert.rejects(reader, { code: "store_unavailable" });
    await cache.settled();
    assert.deepEqual([await readdir(world.dir), cache.usedBytes()], [[], 0]);
    const short = (localPath: string): Promise<void> => writeFile(localPath, "short");
    await assert.rejects(cache.get(file, short), { code: "data_corrupt", message: /main\/a/ });
    await use(world, cache, "a", 10);
  },
);

check("[LO19] a download with another checksum is refused, and leaves nothing", async (world) => {
  const cache = await world.open();
  const file = { key: "a", place: "main/a", sizeBytes: 4, crc32: crc32("good") };
  const bad = (localPath: string): Promise<void> => writeFile(localPath, "goop");
  await assert.rejects(cache.get(file, bad), { code: "data_corrupt", message: /main\/a/ });
  await cache.settled();
  assert.deepEqual([await readdir(world.dir), cache.usedBytes()], [[], 0]);
});

check("[LO19] a copy that rots is fetched again: at once, and after a restart", async (world) => {
  let downloads = 0;
  const file = { key: "a", place: "main/a", sizeBytes: 4, crc32: crc32("good") };
  const download = async (localPath: string): Promise<void> => {
    downloads += 1;
    await writeFile(localPath, "good");
  };
  let cache = await world.open();
  const read = async (): Promise<string> => {
    const copy = await cache.get(file, download);
    const text = await readFile(copy.localPath, "utf8");
    copy.release();
    return text;
  };
  const rot = async (): Promise<void> => {
    const [name = ""] = await readdir(world.dir);
    await writeFile(join(world.dir, name), "goop");
  };
  assert.deepEqual([await read(), downloads], ["good", 1]);
  await rot();
  assert.deepEqual([await read(), downloads], ["good", 2]);
  // Long enough for the use to be recorded, which does not count as a change.
  await world.clock.advance(120_000);
  assert.deepEqual([await read(), await read(), downloads], ["good", "good", 2]);
  await cache.close();
  await rot();
  cache = await world.open();
  assert.deepEqual([await read(), downloads], ["good", 3]);
});

check("[LO16] the least recently used goes first, and never one that is read", async (world) => {
  const cache = await world.open();
  const held = await world.get(cache, "a", 300);
  await use(world, cache, "b", 301);
  await use(world, cache, "c", 302);
  await use(world, cache, "b", 301);
  await use(world, cache, "d", 303);
  await cache.settled();
  assert.deepEqual(await world.copies(), [300, 301, 303], "c went");
  await assert.rejects(world.get(cache, "e", 701), {
    code: "disk_full",
    retry: "backoff",
    message: /no room for e, 701 bytes: 700 could/,
  });
  assert.equal(cache.usedBytes(), 904, "a refusal evicts nothing");
  assert.ok(existsSync(held.localPath));
  held.release();
  held.release();
  await use(world, cache, "e", 701);
  await cache.settled();
  assert.deepEqual(await world.copies(), [701], "it needed the room of all three");
});

check("[LO16] decoded columns make room, artifacts take it", async (world) => {
  const cache = await world.open();
  world.budget.admit("decoded_columns", "column", 500);
  await use(world, cache, "a", 600);
  assert.deepEqual(
    world.evictedOther.map(({ name }) => name),
    ["column"],
  );
  const held = await world.get(cache, "b", 300);
  const admission = world.budget.admit("artifacts", "artifact", 600);
  assert.ok(admission.kind === "admitted");
  for (const eviction of admission.evict) cache.evicted(eviction);
  await cache.settled();
  assert.deepEqual(await world.copies(), [300], "b is being read");
  held.release();
  await assert.rejects(world.get(cache, "a", 600), { code: "disk_full" });
});

check("[LO16] a full disk makes copies go that nobody reads, once", async (world) => {
  const cache = await world.open();
  await use(world, cache, "a", 100);
  const held = await world.get(cache, "b", 101);
  let attempts = 0;
  const full = async (localPath: string): Promise<void> => {
    attempts += 1;
    await writeFile(localPath, bytesOf("c", attempts === 1 ? 50 : 102), { flag: "wx" });
    if (attempts === 1) throw new OperatingError("disk_full", "backoff", "ENOSPC");
  };
  const copy = await cache.get({ key: "c", place: "c", sizeBytes: 102 }, full);
  assert.equal(attempts, 2);
  assert.deepEqual(await world.copies(), [101, 102]);
  const stillFull = (): Promise<void> =>
    Promise.reject(new OperatingError("disk_full", "backoff", "ENOSPC"));
  await assert.rejects(cache.get({ key: "d", place: "d", sizeBytes: 5 }, stillFull), {
    code: "disk_full",
  });
  copy.release();
  held.release();
});

check(
  "[LO17] after a restart, whole copies are used again in the order of their use",
  async (world) => {
    const before = await world.open();
    for (const [path, size] of [
      ["a", 300],
      ["b", 301],
      ["c", 302],
    ] as const) {
      await use(world, before, path, size);
      await world.clock.advance(120_000);
    }
    for (const [path, size] of [
      ["b", 301],
      ["c", 302],
      ["a", 300],
    ] as const) {
      await use(world, before, path, size);
      await world.clock.advance(120_000);
    }
    await before.close();
    const names = await readdir(world.dir);
    const nameOf = (size: number): string => names.find((name) => name.endsWith(`-${size}`)) ?? "";
    await truncate(join(world.dir, nameOf(302)), 5);
    await writeFile(join(world.dir, `${nameOf(301)}.7.part`), "half");
    await writeFile(join(world.dir, "somebody-elses.txt"), "stays");

    world.downloads.length = 0;
    const after = await world.open(newBudget(650));
    assert.equal(after.usedBytes(), 601);
    assert.deepEqual(
      new Set(await readdir(world.dir)),
      new Set([nameOf(300), nameOf(301), "somebody-elses.txt"]),
    );
    await use(world, after, "a", 300);
    await use(world, after, "b", 301);
    assert.deepEqual(world.downloads, []);
    await after.close();

    const smaller = await world.open(newBudget(310));
    assert.equal(smaller.usedBytes(), 300, "a was used after b, says its file");
  },
);

check(
  "[LO17] [OB14] a copy that was changed or deleted behind its back is fetched again, which is logged",
  async (world) => {
    const cache = await world.open();
    for (const spoil of [(path: string) => rm(path), (path: string) => truncate(path, 3)]) {
      const copy = await world.get(cache, "a", 100);
      await spoil(copy.localPath);
      await use(world, cache, "a", 100);
      copy.release();
    }
    assert.equal(world.downloads.length, 3);
    assert.equal(cache.usedBytes(), 100);
    assert.deepEqual(
      world.lines.map(({ fields, message }) => [fields.query_id, fields.file, message]),
      Array(2).fill(["q-1", "a", "a copy was changed behind the cache's back"]),
    );
  },
);

check("[LO15] closing ends downloads and keeps copies", async (world) => {
  const cache = await world.open();
  await use(world, cache, "a", 100);
  const going = world.get(cache, "b", 50, undefined, new Promise<void>(() => undefined));
  const ended = assert.rejects(going, { code: "cancelled" });
  await cache.close();
  await ended;
  assert.deepEqual(await world.copies(), [100]);
});

type Step =
  | { readonly kind: "get"; readonly file: number; readonly abortAfter: number | undefined }
  | { readonly kind: "release"; readonly holder: number }
  | { readonly kind: "artifact"; readonly size: number }
  | { readonly kind: "restart" };

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("get" as const),
      file: fc.nat(7),
      abortAfter: fc.option(fc.nat(12), { nil: undefined }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("release" as const), holder: fc.nat(9) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("artifact" as const), size: fc.nat(400) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
);

test(
  "[LO16] whatever happens, what is read is whole and there, and the disk holds what is counted",
  { timeout: 480_000 },
  () =>
    fc.assert(fc.asyncProperty(fc.array(anyStep, { maxLength: 40 }), runSteps), { numRuns: 150 }),
);

async function runSteps(steps: readonly Step[]): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-cache-"));
  try {
    const world = new World(dir);
    let cache = await world.open();
    let artifactNext = 1;
    const held: { copy: LocalCopy; path: string; size: number }[] = [];
    const going: Promise<void>[] = [];
    for (const step of steps) {
      if (step.kind === "get") {
        const [path, size] = [`f${step.file}`, 100 + step.file * 37];
        const controller = new AbortController();
        const getting = world.get(cache, path, size, controller.signal);
        // Aborts at any moment: before, during and after the write and the rename.
        const aborting = (async () => {
          for (let turn = 0; turn < (step.abortAfter ?? 0); turn += 1) await setImmediate();
          if (step.abortAfter !== undefined) controller.abort();
        })();
        const ended = getting.then(
          (copy) => void held.push({ copy, path, size }),
          (thrown: unknown) => assert.ok(thrown instanceof OperatingError, String(thrown)),
        );
        if (step.abortAfter === undefined) await ended;
        else going.push(ended, aborting);
      } else if (step.kind === "release") {
        for (const { copy } of held.splice(step.holder, 1)) copy.release();
      } else if (step.kind === "artifact") {
        const admission = world.budget.admit("artifacts", `artifact-${artifactNext}`, step.size);
        artifactNext += 1;
        if (admission.kind === "admitted")
          for (const eviction of admission.evict) cache.evicted(eviction);
      } else {
        await Promise.all(going.splice(0));
        for (const { copy } of held.splice(0)) copy.release();
        await cache.close();
        cache = await world.open();
      }
      for (const { copy, path, size } of held) {
        assert.ok((await readFile(copy.localPath)).equals(bytesOf(path, size)), "whole");
      }
    }
    await Promise.all(going);
    await cache.close();
    const sizes = await world.copies();
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      cache.usedBytes(),
    );
    assert.ok(world.budget.usage().usedBytes <= 1_000);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

const filesOf = (sizes: Readonly<Record<string, number>>) =>
  Object.entries(sizes).map(([key, sizeBytes]) => ({ key, place: key, sizeBytes }));

check("[LO18] who has room for several files gets each, whatever others ask for", async (world) => {
  const cache = await world.open();
  await use(world, cache, "old", 300);
  const held = await cache.reserve(filesOf({ a: 400, b: 500 }));
  assert.equal(world.budget.usage().byTenant.parquet_cache, 900, "counted before any byte came");
  await assert.rejects(world.get(cache, "c", 200), { code: "disk_full" });
  await use(world, cache, "a", 400);
  await use(world, cache, "b", 500);
  held.release();
  held.release();
  await use(world, cache, "c", 200);
  await cache.settled();
  assert.deepEqual(await world.copies(), [200, 500], "what was used least recently went");
});

check("[LO18] whoever waits for room holds nothing, and comes in turn", async (world) => {
  const cache = await world.open();
  const first = await cache.reserve(filesOf({ a: 400, b: 200 }));
  const order: string[] = [];
  const ask = async (name: string, sizes: Readonly<Record<string, number>>): Promise<void> => {
    const held = await cache.reserve(filesOf(sizes));
    order.push(name);
    held.release();
  };
  const waiting = [
    ask("large", { b: 200, c: 700 }),
    ask("small", { d: 100 }),
    ask("medium", { a: 400, d: 100 }),
  ];
  await setImmediate();
  assert.deepEqual(order, [], "the small one does not overtake");
  assert.equal(world.budget.usage().byTenant.parquet_cache, 600);
  first.release();
  await Promise.all(waiting);
  assert.deepEqual(order, ["large", "small", "medium"]);
  assert.equal(world.budget.usage().byTenant.parquet_cache, 0, "nobody fetched anything");
});

check("[LO18] a wait for room ends: cancelled, or after a minute", async (world) => {
  const cache = await world.open();
  const first = await cache.reserve(filesOf({ a: 800 }));
  const abort = new AbortController();
  const cancelled = cache.reserve(filesOf({ b: 300 }), abort.signal);
  const late = cache.reserve(filesOf({ c: 300 }));
  abort.abort();
  await assert.rejects(cancelled, { code: "cancelled" });
  const outcome = assert.rejects(late, { code: "disk_full", retry: "backoff" });
  await world.clock.advance(60_000);
  await outcome;
  first.release();
  (await cache.reserve(filesOf({ d: 1_000 }))).release();
});

check("[LO18] room that artifacts give back is found", async (world) => {
  const cache = await world.open();
  world.budget.admit("artifacts", "x", 600);
  const waiting = cache.reserve(filesOf({ a: 500 }));
  world.budget.remove("artifacts", "x");
  await world.clock.advance(1_000);
  (await waiting).release();
});

check("[LO18] what would never fit is refused at once", async (world) => {
  const floor = { artifactFloorBytes: 500, highRatio: 1, lowRatio: 1 };
  const cache = await world.open(new DiskBudget({ capacityBytes: 1_000, ...floor }));
  await assert.rejects(cache.reserve(filesOf({ a: 300, b: 201 })), {
    code: "query_too_large",
    retry: "never",
    message: "it reads 2 files of 501 bytes at once, and this worker keeps 500 at the most",
  });
});

check("[LO16] a copy keeps the ending of its name, also across restarts", async (world) => {
  const cache = await world.open();
  await use(world, cache, "uploads/q-1.CSV.gz", 50);
  await use(world, cache, "plain", 20);
  await cache.close();
  const names = await readdir(world.dir);
  assert.deepEqual(names.map((name) => /-\d+(.*)$/.exec(name)?.[1]).sort(), ["", ".csv.gz"]);
  await writeFile(join(world.dir, `${names.find((name) => name.endsWith("-20"))}.1.part`), "x");
  const again = await world.open();
  assert.equal(again.usedBytes(), 70);
  assert.equal((await readdir(world.dir)).length, 2);
});
