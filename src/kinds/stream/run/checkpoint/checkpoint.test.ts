import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import type { NodeState } from "../../engine/core/index.ts";
import { encodeFragment } from "./encode-checkpoint.ts";
import { LocalCheckpoints } from "./local-checkpoints.ts";

const root = await mkdtemp(join(tmpdir(), "capstan-checkpoints-"));
after(() => rm(root, { recursive: true, force: true }));
let directories = 0;

function newDirectory(): string {
  directories += 1;
  return join(root, `${directories}`);
}

/** A node whose sections are `key: [generation, text]`. */
function stateOf(sections: Readonly<Record<string, readonly [number, string]>>): NodeState[] {
  return [
    {
      node: 4,
      combined: -7n,
      told: 2n ** 64n,
      sections: Object.entries(sections).map(([key, [generation, text]]) => ({
        key,
        generation,
        encode: () => new TextEncoder().encode(text),
      })),
    },
  ];
}

async function complete(
  checkpoints: LocalCheckpoints,
  sections: Readonly<Record<string, readonly [number, string]>>,
): Promise<void> {
  const positions = new Map([[0, "at 9"]]);
  await checkpoints.complete([
    encodeFragment("f0", stateOf(sections), positions, checkpoints.last),
  ]);
}

async function textsOf(checkpoints: LocalCheckpoints): Promise<Record<string, string>> {
  const restored = (await checkpoints.restore())?.get("f0");
  assert.deepEqual([...(restored?.positions ?? [])], [[0, "at 9"]]);
  assert.deepEqual(
    restored?.nodes.map(({ node, combined, told }) => [node, combined, told]),
    [[4, -7n, 2n ** 64n]],
  );
  const sections = restored?.nodes[0]?.sections ?? [];
  return Object.fromEntries(
    sections.map(({ key, bytes }) => [key, new TextDecoder().decode(bytes)]),
  );
}

test("[SU11] a section that has not changed is not written again", async () => {
  const directory = newDirectory();
  const checkpoints = await LocalCheckpoints.open(directory, "p", realFiles);
  await complete(checkpoints, { a: [1, "long ".repeat(100)], b: [1, "b1"] });
  await complete(checkpoints, { a: [1, "long ".repeat(100)], b: [2, "b2"] });
  const sizes = checkpoints.last?.objects.map(({ sizeBytes }) => sizeBytes);
  assert.deepEqual(sizes, [2, 502]);
  const again = await LocalCheckpoints.open(directory, "p", realFiles);
  assert.deepEqual(await textsOf(again), { a: "long ".repeat(100), b: "b2" });
});

test("[SU12] objects that the last checkpoint does not need are deleted", async () => {
  const directory = newDirectory();
  const checkpoints = await LocalCheckpoints.open(directory, "p", realFiles);
  await complete(checkpoints, { a: [1, "a1"] });
  await complete(checkpoints, { a: [2, "a2"] });
  assert.equal((await readdir(join(directory, "state"))).length, 1);
  assert.deepEqual(await textsOf(checkpoints), { a: "a2" });
});

test("[SU12] an object without a manifest, left by a kill, counts for nothing", async () => {
  const directory = newDirectory();
  const checkpoints = await LocalCheckpoints.open(directory, "p", realFiles);
  await complete(checkpoints, { a: [1, "a1"] });
  await writeFile(join(directory, "state", "checkpoint-2-1.state"), "half");
  const again = await LocalCheckpoints.open(directory, "p", realFiles);
  assert.deepEqual(await textsOf(again), { a: "a1" });
  assert.equal((await readdir(join(directory, "state"))).length, 1);
  await complete(again, { a: [1, "a1"] });
  assert.equal(again.last?.epoch, 2);
});

test("[SU10] a checkpoint of another query or another version is refused by name", async () => {
  const directory = newDirectory();
  const checkpoints = await LocalCheckpoints.open(directory, "p", realFiles);
  await complete(checkpoints, { a: [1, "a1"] });
  await assert.rejects(LocalCheckpoints.open(directory, "q", realFiles), /of another query/);
  const manifest = { ...checkpoints.last, version: 99 };
  await writeFile(join(directory, "current.json"), JSON.stringify(manifest));
  await assert.rejects(LocalCheckpoints.open(directory, "p", realFiles), /its format is 99/);
});

test("[SU13] damaged and missing state is an error", async () => {
  const directory = newDirectory();
  const checkpoints = await LocalCheckpoints.open(directory, "p", realFiles);
  await complete(checkpoints, { a: [1, "state"] });
  const [name = ""] = await readdir(join(directory, "state"));
  await writeFile(join(directory, "state", name), "staTe");
  const damaged = await LocalCheckpoints.open(directory, "p", realFiles);
  await assert.rejects(damaged.restore(), { code: "data_corrupt" });
  await rm(join(directory, "state", name));
  const missing = await LocalCheckpoints.open(directory, "p", realFiles);
  await assert.rejects(missing.restore(), { name: "OperatingError" });
  await writeFile(join(directory, "current.json"), "{");
  await assert.rejects(LocalCheckpoints.open(directory, "p", realFiles), { code: "data_corrupt" });
});
