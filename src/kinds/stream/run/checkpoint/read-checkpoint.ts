/** Reads the state of every fragment back from the objects of a checkpoint. */
import type { ObjectStore } from "../../../../data/lake/index.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import type { Manifest, ManifestFragment } from "../core/manifest.ts";
import type { RestoredFragment } from "../core/stream-host.ts";

export async function readCheckpoint(
  manifest: Pick<Manifest, "fragments">,
  objects: ObjectStore,
  files: Files,
): Promise<ReadonlyMap<string, RestoredFragment>> {
  const restored = new Map<string, RestoredFragment>();
  for (const fragment of manifest.fragments) {
    const contents: Uint8Array[] = [];
    for (const object of fragment.objects) {
      const copy = await objects.fetch(object);
      try {
        contents.push(await files.read(copy.localPath));
      } finally {
        copy.release();
      }
    }
    restored.set(fragment.fragment, restore(fragment, contents));
  }
  return restored;
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
      sections: sections.map(({ key, generation, object, offset, length }) => ({
        key,
        generation,
        bytes: contents[object]?.subarray(offset, offset + length) ?? new Uint8Array(0),
      })),
    })),
    positions: new Map(
      Object.entries(positions).map(([node, position]) => [Number(node), position]),
    ),
  };
}
