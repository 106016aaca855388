import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import type { NodeState } from "../../engine/core/index.ts";
import type { Manifest, StateIdentity } from "../core/manifest.ts";
import { StateEncoder } from "../host/encode-state.ts";
import { LocalCheckpoints } from "./local-checkpoints.ts";

const root = await mkdtemp(join(tmpdir(), "capstan-checkpoints-"));
after(() => rm(root, { recursive: true, force: true }));

const ours: StateIdentity = { planHash: "p", parallelism: 2, keyGroups: 256 };

const open = async (name: string, identity = ours): Promise<LocalCheckpoints> =>
  await LocalCheckpoints.open(join(root, name), identity, realFiles);

/** A node with sections `a` and `b`; counts how often each is encoded. */
function nodeState(a: number, b: number, encoded: string[]): NodeState {
  const section = (key: string, generation: number) => ({
    key,
    generation,
    encode: () => {
      encoded.push(`${key}${generation}`);
      return Buffer.from(`${key} of ${generation}`);
    },
  });
  return { node: 3, sections: [section("a", a), section("b", b)], combined: 5n, told: -7n };
}

/** Takes a checkpoint of two fragments of which one has state; says what was encoded. */
async function take(
  at: LocalCheckpoints,
  encoder: StateEncoder,
  a: number,
  b: number,
): Promise<readonly string[]> {
  const encoded: string[] = [];
  const number = (at.last?.checkpoint ?? 0) + 1;
  const positions = new Map([[0, `offset ${a}`]]);
  const states = [
    encoder.encode(number, [nodeState(a, b, encoded)], positions),
    new StateEncoder("s1.0", undefined).encode(number, [], new Map()),
  ];
  const stored = states.map((state) => at.store(number, { ...state, prepared: new Map() }));
  await at.complete(number, await Promise.all(stored), new Map());
  encoder.completed(number);
  return encoded;
}

const encoderOf = async (at: LocalCheckpoints): Promise<StateEncoder> =>
  new StateEncoder("f0", (await at.restore())?.get("f0"));

async function textsOf(at: LocalCheckpoints): Promise<readonly string[]> {
  const fragment = (await at.restore())?.get("f0");
  return (fragment?.nodes ?? []).flatMap(({ sections }) =>
    sections.map(({ bytes }) => Buffer.from(bytes).toString()),
  );
}

test("[SU11] a piece of state that did not change is not written again", async () => {
  const first = await open("again");
  const encoder = await encoderOf(first);
  assert.deepEqual(await take(first, encoder, 1, 1), ["a1", "b1"]);
  assert.deepEqual(await take(first, encoder, 2, 1), ["a2"]);
  const sizes = first.last?.fragments[0]?.objects.map(({ sizeBytes }) => sizeBytes);
  assert.deepEqual(sizes, [6, 12]);
  const second = await open("again");
  assert.deepEqual(await textsOf(second), ["a of 2", "b of 1"]);
  const restored = (await second.restore())?.get("f0");
  assert.equal(restored?.positions.get(0), "offset 2");
  assert.deepEqual([restored?.nodes[0]?.combined, restored?.nodes[0]?.told], [5n, -7n]);
  assert.deepEqual(await take(second, await encoderOf(second), 2, 1), []);
  assert.deepEqual(await textsOf(second), ["a of 2", "b of 1"]);
  assert.deepEqual([second.last?.checkpoint, second.last?.epoch], [3, 2]);
});

test("[SU11] a checkpoint that was not completed is no base for the next one", async () => {
  const checkpoints = await open("base");
  const encoder = await encoderOf(checkpoints);
  await take(checkpoints, encoder, 1, 1);
  const encoded: string[] = [];
  // Nobody completes this one.
  encoder.encode(2, [nodeState(2, 1, encoded)], new Map());
  const third = encoder.encode(3, [nodeState(2, 1, encoded)], new Map([[0, "offset 2"]]));
  assert.deepEqual(encoded, ["a2", "a2"]);
  const prepared = new Map();
  await checkpoints.complete(3, [await checkpoints.store(3, { ...third, prepared })], prepared);
  // The fragment takes its next one before it hears that the third is complete.
  const fourth = encoder.encode(4, [nodeState(2, 1, encoded)], new Map());
  await checkpoints.complete(4, [await checkpoints.store(4, { ...fourth, prepared })], prepared);
  assert.deepEqual(await textsOf(checkpoints), ["a of 2", "b of 1"]);
});

test("[SU12] objects that the complete checkpoint does not need are deleted", async () => {
  const checkpoints = await open("objects");
  const encoder = await encoderOf(checkpoints);
  await take(checkpoints, encoder, 1, 1);
  await take(checkpoints, encoder, 2, 2);
  const folder = join(root, "objects", "state");
  assert.equal((await readdir(folder)).length, 1);
  // A run that was killed leaves an object and no manifest for it.
  await writeFile(join(folder, "f0-3-9.state"), "half");
  const next = await open("objects");
  assert.equal((await readdir(folder)).length, 1);
  assert.equal(next.last?.checkpoint, 2);
  assert.deepEqual(await textsOf(next), ["a of 2", "b of 2"]);
});

test("[SU10] a checkpoint of another query, parallelism or format is refused by name", async () => {
  const checkpoints = await open("refused");
  await take(checkpoints, await encoderOf(checkpoints), 1, 1);
  const refused = async (identity: StateIdentity, message: RegExp): Promise<void> =>
    await assert.rejects(open("refused", identity), message);
  await refused({ ...ours, planHash: "other" }, /it was taken of another query/);
  await refused({ ...ours, parallelism: 3 }, /with a parallelism of 2, and this run has 3/);
  await refused({ ...ours, keyGroups: 128 }, /it has 256 key groups, and there are 128/);
  const path = join(root, "refused", "current.json");
  const manifest = JSON.parse(await readFile(path, "utf8")) as Manifest;
  await writeFile(path, JSON.stringify({ ...manifest, version: 99 }));
  await refused(ours, /its format is 99/);
  await writeFile(path, "{");
  await refused(ours, /is no checkpoint/);
});

test("[SU13] an object that is damaged or missing is an error", async () => {
  const checkpoints = await open("damaged");
  await take(checkpoints, await encoderOf(checkpoints), 1, 1);
  const folder = join(root, "damaged", "state");
  const [name = ""] = await readdir(folder);
  const path = join(folder, name);
  const bytes = await readFile(path);
  bytes[2] = (bytes[2] ?? 0) ^ 1;
  await writeFile(path, bytes);
  await assert.rejects((await open("damaged")).restore(), { code: "data_corrupt" });
  await rm(path);
  await assert.rejects((await open("damaged")).restore(), { name: "OperatingError" });
});
