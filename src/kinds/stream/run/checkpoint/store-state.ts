/** Writes what is new in a fragment's state as one object, and says where everything lies. */
import { join } from "node:path";
import type { ObjectStore } from "../../../../data/lake/index.ts";
import { assert } from "../../../../ground/kernel/errors.ts";
import type { Files } from "../../../../ground/kernel/files.ts";
import type {
  CheckpointObject,
  ManifestFragment,
  ManifestNode,
  ManifestSection,
} from "../core/manifest.ts";
import type { EncodedFragment, EncodedSection } from "../core/stream-host.ts";

export interface StoreState {
  readonly objects: ObjectStore;
  readonly files: Files;
  /** Where the object is written before it is put; on the store's file system if it has one. */
  readonly stagingDir: string;
  /** The folder of the query's objects. */
  readonly prefix: string;
  /** The name of the object in it, which no other has. */
  readonly name: string;
  readonly state: EncodedFragment;
  /** The same fragment in the last complete checkpoint. */
  readonly previous: ManifestFragment | undefined;
}

export async function storeState(options: StoreState): Promise<ManifestFragment> {
  const { state, previous } = options;
  const kept = new KeptObjects(previous);
  const content = state.nodes.flatMap(({ sections }) =>
    sections.flatMap(({ bytes }) => bytes ?? []),
  );
  const written = content.length === 0 ? 0 : kept.add(await putContent(options, content));
  let offset = 0;
  const place = (node: number, { key, generation, bytes }: EncodedSection): ManifestSection => {
    if (bytes === undefined) return kept.keep(node, key, generation);
    const section = { key, generation, object: written, offset, length: bytes.length };
    offset += bytes.length;
    return section;
  };
  return {
    fragment: state.fragment,
    positions: Object.fromEntries(state.positions),
    nodes: state.nodes.map(
      ({ node, combined, told, sections }): ManifestNode => ({
        node,
        combined: `${combined}`,
        told: `${told}`,
        sections: sections.map((section) => place(node, section)),
      }),
    ),
    objects: kept.objects,
  };
}

async function putContent(
  { objects, files, stagingDir, prefix, name }: StoreState,
  content: readonly Uint8Array[],
): Promise<CheckpointObject> {
  const path = `${prefix}/${name}`;
  // All queries of a worker have one staging directory, and fragments of one name.
  const local = join(stagingDir, path.replaceAll("/", "-"));
  await files.removeAll(local); // Left by a crash.
  const file = await files.open(local, "new");
  let sizeBytes = 0;
  try {
    for (const bytes of content) {
      await file.write(bytes, sizeBytes);
      sizeBytes += bytes.length;
    }
  } catch (thrown) {
    // On a full disk a part of it would take the room that the next try needs.
    await file.close();
    await files.removeAll(local).catch(() => undefined);
    throw thrown;
  }
  await file.close();
  const { crc32 } = await objects.put(path, local);
  return { path, sizeBytes, crc32 };
}

/** The objects that a fragment's state lies in, each once. */
class KeptObjects {
  readonly #previous: ManifestFragment["objects"];
  readonly #sections: ReadonlyMap<string, ManifestSection>;
  readonly #places = new Map<number, number>();
  readonly objects: CheckpointObject[] = [];

  constructor(previous: ManifestFragment | undefined) {
    this.#previous = previous?.objects ?? [];
    this.#sections = new Map(
      (previous?.nodes ?? []).flatMap(({ node, sections }) =>
        sections.map((section) => [`${node} ${section.key}`, section]),
      ),
    );
  }

  add(object: CheckpointObject): number {
    this.objects.push(object);
    return this.objects.length - 1;
  }

  /** A section of the previous manifest, with the new place of its object. */
  keep(node: number, key: string, generation: number): ManifestSection {
    const section = this.#sections.get(`${node} ${key}`);
    assert(
      section?.generation === generation,
      "a section that is not given is in the last complete checkpoint",
    );
    let place = this.#places.get(section.object);
    if (place === undefined) {
      const object = this.#previous[section.object];
      assert(object !== undefined, "a section lies in an object of its fragment");
      place = this.add(object);
      this.#places.set(section.object, place);
    }
    return { ...section, object: place };
  }
}
