import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import type { NodeState } from "../../engine/core/index.ts";
import type { Manifest } from "../core/manifest.ts";
import { encodeFragment } from "./encode-checkpoint.ts";
import { LocalCheckpoints } from "./local-checkpoints.ts";

const root = await mkdtemp(join(tmpdir(), "capstan-checkpoints-"));
after(() => rm(root, { recursive: true, force: true }));

const open = async (name: string, planHash = "p"): Promise<LocalCheckpoints> =>
  await LocalCheckpoints.open(join(root, name), planHash, realFiles);

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

async function take(at: LocalCheckpoints, a: number, b: number): Promise<readonly string[]> {
  const encoded: string[] = [];
  const positions = new Map([[0, `offset ${a}`]]);
  await at.complete([encodeFragment("f0", [nodeState(a, b, encoded)], positions, at.last)]);
  return encoded;
}

async function textsOf(at: LocalCheckpoints): Promise<readonly string[]> {
  const fragment = (await at.restore())?.get("f0");
  return (fragment?.nodes ?? []).flatMap(({ sections }) =>
    sections.map(({ bytes }) => Buffer.from(bytes).toString()),
  );
}

test("[SU11] a piece of state that did not change is not written again", async () => {
  const first = await open("again");
  assert.deepEqual(await take(first, 1, 1), ["a1", "b1"]);
  assert.deepEqual(await take(first, 2, 1), ["a2"]);
  const second = await open("again");
  assert.deepEqual(await textsOf(second), ["a of 2", "b of 1"]);
  const restored = (await second.restore())?.get("f0");
  assert.equal(restored?.positions.get(0), "offset 2");
  assert.deepEqual([restored?.nodes[0]?.combined, restored?.nodes[0]?.told], [5n, -7n]);
  assert.deepEqual(await take(second, 2, 1), []);
  assert.equal(second.last?.checkpoint, 3);
});

test("[SU12] objects that the complete checkpoint does not need are deleted", async () => {
  const checkpoints = await open("objects");
  await take(checkpoints, 1, 1);
  await take(checkpoints, 2, 2);
  const folder = join(root, "objects", "state");
  assert.equal((await readdir(folder)).length, 1);
  // A run that was killed leaves an object and no manifest for it.
  await writeFile(join(folder, "checkpoint-3-9.state"), "half");
  const next = await open("objects");
  assert.equal((await readdir(folder)).length, 1);
  assert.equal(next.last?.checkpoint, 2);
  assert.deepEqual(await textsOf(next), ["a of 2", "b of 2"]);
});

test("[SU10] a checkpoint of another query or of another format is refused", async () => {
  await take(await open("refused"), 1, 1);
  await assert.rejects(open("refused", "other"), /it was taken of another query/);
  const path = join(root, "refused", "current.json");
  const manifest = JSON.parse(await readFile(path, "utf8")) as Manifest;
  await writeFile(path, JSON.stringify({ ...manifest, version: 99 }));
  await assert.rejects(open("refused"), /its format is 99/);
  await writeFile(path, "{");
  await assert.rejects(open("refused"), /is no checkpoint/);
});

test("[SU13] an object that is damaged or missing is an error", async () => {
  await take(await open("damaged"), 1, 1);
  const folder = join(root, "damaged", "state");
  const [name = ""] = await readdir(folder);
  const path = join(folder, name);
  const bytes = await readFile(path);
  bytes[2] = (bytes[2] ?? 0) ^ 1;
  await writeFile(path, bytes);
  await assert.rejects((await open("damaged")).restore());
  await rm(path);
  await assert.rejects((await open("damaged")).restore());
});
