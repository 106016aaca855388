/**
 * Takes the state of a fragment, encoding what the last complete checkpoint does not have (SU11).
 * It runs in the same turn as the snapshot, because operators change their state in the next one.
 */
import type { NodeState } from "../../engine/core/index.ts";
import type { EncodedFragment, EncodedSection, RestoredFragment } from "../core/stream-host.ts";

type Generations = ReadonlyMap<string, number>;

export class StateEncoder {
  readonly #fragment: string;
  /** Of the sections in the last complete checkpoint that this fragment was told of. */
  #known: Generations;
  /** Of the sections in checkpoints that may still become complete. */
  readonly #given = new Map<number, Generations>();

  constructor(fragment: string, restored: RestoredFragment | undefined) {
    this.#fragment = fragment;
    const sections = (restored?.nodes ?? []).flatMap(({ node, sections: all }) =>
      all.map(({ key, generation }): [string, number] => [nameOf(node, key), generation]),
    );
    this.#known = new Map(sections);
  }

  /** `checkpoint` is `undefined` for the state at the end. */
  encode(
    checkpoint: number | undefined,
    nodes: readonly NodeState[],
    positions: ReadonlyMap<number, string>,
  ): Omit<EncodedFragment, "prepared"> {
    const given = new Map<string, number>();
    const encoded = nodes.map(({ node, combined, told, sections }) => ({
      node,
      combined,
      told,
      sections: sections.map((section): EncodedSection => {
        const { key, generation } = section;
        const name = nameOf(node, key);
        given.set(name, generation);
        const isKnown = this.#known.get(name) === generation;
        return { key, generation, bytes: isKnown ? undefined : section.encode() };
      }),
    }));
    if (checkpoint !== undefined) this.#given.set(checkpoint, given);
    return { fragment: this.#fragment, nodes: encoded, positions };
  }

  completed(checkpoint: number): void {
    const given = this.#given.get(checkpoint);
    if (given !== undefined) this.#known = given;
    for (const each of this.#given.keys()) if (each <= checkpoint) this.#given.delete(each);
  }
}

function nameOf(node: number, key: string): string {
  return `${node} ${key}`;
}
