/**
 * Takes the state of a fragment, encoding what the last checkpoint does not have. It runs in the
 * same turn as the snapshot, because operators change their state in the next one.
 */
import type { NodeState } from "../../engine/core/index.ts";
import type { Manifest, ManifestSection } from "../core/manifest.ts";

export interface EncodedFragment {
  readonly fragment: string;
  readonly nodes: readonly EncodedNode[];
  readonly positions: ReadonlyMap<number, string>;
}

export interface EncodedNode {
  readonly node: number;
  readonly combined: bigint;
  readonly told: bigint;
  readonly sections: readonly EncodedSection[];
}

/** Either new bytes, or where the last checkpoint has the same. */
export type EncodedSection =
  | {
      readonly key: string;
      readonly generation: number;
      readonly bytes: Uint8Array;
      readonly known: undefined;
    }
  | {
      readonly key: string;
      readonly generation: number;
      readonly bytes: undefined;
      readonly known: ManifestSection;
    };

export function encodeFragment(
  fragment: string,
  nodes: readonly NodeState[],
  positions: ReadonlyMap<number, string>,
  previous: Manifest | undefined,
): EncodedFragment {
  const before = previous?.fragments.find((each) => each.fragment === fragment);
  return {
    fragment,
    positions,
    nodes: nodes.map(({ node, combined, told, sections }) => {
      const known = before?.nodes.find((each) => each.node === node)?.sections ?? [];
      const byKey = new Map(known.map((section) => [section.key, section]));
      return {
        node,
        combined,
        told,
        sections: sections.map((section): EncodedSection => {
          const { key, generation } = section;
          const same = byKey.get(key);
          return same?.generation === generation
            ? { key, generation, bytes: undefined, known: same }
            : { key, generation, bytes: section.encode(), known: undefined };
        }),
      };
    }),
  };
}
