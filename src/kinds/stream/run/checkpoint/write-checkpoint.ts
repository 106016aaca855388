/** Writes what changed since the last checkpoint as one object, and says where everything lies. */
import { join } from "node:path";
import type { ObjectStore } from "../../../../data/lake/index.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import type {
  Manifest,
  ManifestFragment,
  ManifestNode,
  ManifestSection,
} from "../core/manifest.ts";
import { manifestVersion } from "../core/manifest.ts";
import type { EncodedFragment } from "./encode-checkpoint.ts";

export interface WriteCheckpoint {
  readonly objects: ObjectStore;
  readonly files: Files;
  /** Where the object is written before it is put; on the store's file system if it has one. */
  readonly stagingDir: string;
  /** The folder of the query's objects. */
  readonly prefix: string;
  readonly planHash: string;
  readonly checkpoint: number;
  readonly epoch: number;
  readonly fragments: readonly EncodedFragment[];
  readonly previous: Manifest | undefined;
}

export async function writeCheckpoint(options: WriteCheckpoint): Promise<Manifest> {
  const { fragments, previous, checkpoint } = options;
  const kept = new KeptObjects(previous);
  const path = `${options.prefix}/checkpoint-${checkpoint}-${options.epoch}.state`;
  const content = fragments.flatMap((fragment) =>
    fragment.nodes.flatMap((node) => node.sections.flatMap(({ bytes }) => bytes ?? [])),
  );
  const sizeBytes = content.reduce((sum, { length }) => sum + length, 0);
  let written: number | undefined;
  if (sizeBytes > 0) {
    const crc32 = await putContent(options, path, content);
    written = kept.add({ path, sizeBytes, crc32 });
  }
  let offset = 0;
  const place = (fragment: EncodedFragment): ManifestFragment => ({
    fragment: fragment.fragment,
    positions: Object.fromEntries(fragment.positions),
    nodes: fragment.nodes.map(
      ({ node, combined, told, sections }): ManifestNode => ({
        node,
        combined: `${combined}`,
        told: `${told}`,
        sections: sections.map(({ key, generation, bytes, known }): ManifestSection => {
          if (bytes === undefined) return { ...known, object: kept.keep(known.object) };
          const section = { key, generation, object: written ?? 0, offset, length: bytes.length };
          offset += bytes.length;
          return section;
        }),
      }),
    ),
  });
  const placed = fragments.map(place);
  return {
    version: manifestVersion,
    planHash: options.planHash,
    checkpoint,
    epoch: options.epoch,
    fragments: placed,
    objects: kept.objects,
  };
}

async function putContent(
  { objects, files, stagingDir, checkpoint, epoch }: WriteCheckpoint,
  path: string,
  content: readonly Uint8Array[],
): Promise<number> {
  const local = join(stagingDir, `checkpoint-${checkpoint}-${epoch}.state`);
  await files.removeAll(local); // Left by a crash.
  const file = await files.open(local, "new");
  try {
    let at = 0;
    for (const bytes of content) {
      await file.write(bytes, at);
      at += bytes.length;
    }
  } finally {
    await file.close();
  }
  const { crc32 } = await objects.put(path, local);
  return crc32;
}

/** The objects that a manifest refers to, each once. */
class KeptObjects {
  readonly #previous: Manifest["objects"];
  readonly #places = new Map<number, number>();
  readonly objects: Manifest["objects"][number][] = [];

  constructor(previous: Manifest | undefined) {
    this.#previous = previous?.objects ?? [];
  }

  /** The new place of an object of the previous manifest. */
  keep(place: number): number {
    const known = this.#places.get(place);
    if (known !== undefined) return known;
    const object = this.#previous[place];
    if (object === undefined) throw new RangeError("a section lies in an object of its manifest");
    const added = this.add(object);
    this.#places.set(place, added);
    return added;
  }

  add(object: Manifest["objects"][number]): number {
    this.objects.push(object);
    return this.objects.length - 1;
  }
}
