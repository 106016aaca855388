/** Reads the state of every fragment back from the objects of a checkpoint. */
import type { ObjectStore } from "../../../../data/lake/index.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import type { Manifest, ManifestFragment } from "../core/manifest.ts";
import type { RestoredFragment } from "../host/fragment-host.ts";

export async function readCheckpoint(
  manifest: Manifest,
  objects: ObjectStore,
  files: Files,
): Promise<ReadonlyMap<string, RestoredFragment>> {
  const contents: Uint8Array[] = [];
  for (const object of manifest.objects) {
    const copy = await objects.fetch(object);
    try {
      contents.push(await files.read(copy.localPath));
    } finally {
      copy.release();
    }
  }
  return new Map(
    manifest.fragments.map((fragment) => [fragment.fragment, restore(fragment, contents)]),
  );
}

function restore(
  { nodes, positions }: ManifestFragment,
  contents: readonly Uint8Array[],
): RestoredFragment {
  return {
    nodes: nodes.map(({ node, combined, told, sections }) => ({
      node,
      combined: BigInt(combined),
      told: BigInt(told),
      sections: sections.map(({ key, object, offset, length }) => ({
        key,
        bytes: contents[object]?.subarray(offset, offset + length) ?? new Uint8Array(0),
      })),
    })),
    positions: new Map(
      Object.entries(positions).map(([node, position]) => [Number(node), position]),
    ),
  };
}
