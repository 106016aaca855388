import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openDirectoryStore } from "../../../../data/lake/index.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import type { EncodedFragment } from "../../run/core/index.ts";
import { createStateStorage } from "./state-storage.ts";

const home = await mkdtemp(join(tmpdir(), "capstan-state-"));
after(() => rm(home, { recursive: true, force: true }));
const [objectDir, stagingDir] = [join(home, "objects"), join(home, "staging")];
for (const dir of [objectDir, stagingDir]) await mkdir(dir);

/** A fragment whose one section is full of a number. */
function stateOf(fragment: string, fill: number): EncodedFragment {
  const bytes = new Uint8Array(100_000).fill(fill);
  const sections = [{ key: "k", generation: 1, bytes }];
  return {
    ...{ fragment, positions: new Map(), prepared: new Map() },
    nodes: [{ node: 0, combined: 0n, told: 0n, sections }],
  };
}

test("[SD9] states of one name in different queries are written at one time", async () => {
  const objects = await openDirectoryStore(objectDir, realFiles);
  const storage = createStateStorage({ objects, files: realFiles, stagingDir });
  const queries = Array.from({ length: 20 }, (_, index) => index + 1);
  const manifests = await Promise.all(
    queries.map((query) =>
      storage.store({ query: `${query}`, epoch: 1 }, 1, stateOf("s1.0", query), undefined),
    ),
  );
  for (const [index, manifest] of manifests.entries()) {
    const restored = (await storage.restore([manifest])).get("s1.0");
    const [section] = restored?.nodes[0]?.sections ?? [];
    assert.deepEqual(new Set(section?.bytes), new Set([index + 1]));
  }
});
