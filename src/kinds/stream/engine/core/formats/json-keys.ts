/**
 * The keys of the objects in a record, as a tree: the record's own object at the root, and one node
 * for each object that a path goes through. Each node remembers which key stood where in the record
 * before, so that records of one shape are matched by comparing bytes.
 */
import { DialectError, type Schema } from "../../../language/core/index.ts";
import { noJson, skipString, unescapeString } from "./json-scan.ts";
import { stepsOfPath } from "./json-steps.ts";

/** A key as it was seen. */
export interface SeenKey {
  /** Its bytes, with the closing quote. */
  readonly raw: Uint8Array;
  /** What it leads to: the number of a target of its node, or -1. */
  readonly target: number;
  /** Whether the spelling is that of the target. */
  readonly exact: boolean;
}

/** What a key can lead to: a column, an object with more keys, or both. */
export interface Target {
  readonly key: string;
  column: number | undefined;
  node: JsonNode | undefined;
}

export class JsonNode {
  readonly id: number;
  readonly targets: Target[] = [];
  /** The keys of the record before, by their place in the object. */
  readonly seen: SeenKey[] = [];
  readonly #known = new Map<string, SeenKey>();

  constructor(id: number) {
    this.id = id;
  }

  targetOf(key: string): Target {
    let target = this.targets.find((candidate) => candidate.key === key);
    if (target === undefined) {
      target = { key, column: undefined, node: undefined };
      this.targets.push(target);
    }
    return target;
  }

  /** Finds a key whose first byte is at `start`; `undefined`: there is no string. */
  find(bytes: Uint8Array, start: number, limit: number, place: number): SeenKey | undefined {
    const end = skipString(bytes, start - 1, limit);
    if (end === noJson) return undefined;
    const raw = bytes.slice(start, end);
    const content = new Uint8Array(raw.length);
    const length = unescapeString(raw, 0, raw.length - 1, content);
    if (length === noJson) return undefined;
    const name = new TextDecoder().decode(content.subarray(0, length));
    let key = raw.length === length + 1 ? this.#known.get(name) : undefined;
    if (key === undefined) {
      const exact = this.targets.findIndex((target) => target.key === name);
      const folded = name.toLowerCase();
      const target =
        exact >= 0 ? exact : this.targets.findIndex(({ key: own }) => own.toLowerCase() === folded);
      key = { raw, target, exact: exact >= 0 };
      // Keys of ever new names (ids as keys) must not fill the memory.
      if (raw.length === length + 1 && this.#known.size < 10_000) this.#known.set(name, key);
    }
    // Records with very many keys are matched one by one.
    if (place < 1_000) this.seen[place] = key;
    return key;
  }
}

/** The tree for the columns; `paths` are by names in capitals. */
export function keyTree(
  record: Schema,
  columns: readonly number[],
  paths: ReadonlyMap<string, string>,
): { readonly root: JsonNode; readonly nodes: readonly JsonNode[] } {
  const root = new JsonNode(0);
  const nodes = [root];
  columns.forEach((index, column) => {
    const name = record[index]?.name ?? "";
    const path = paths.get(name.toUpperCase());
    const keys = path === undefined ? keysOfName(name) : keysOfPath(path);
    let target = root.targetOf(keys[0] as string);
    for (const key of keys.slice(1)) {
      if (target.node === undefined) {
        target.node = new JsonNode(nodes.length);
        nodes.push(target.node);
      }
      target = target.node.targetOf(key);
    }
    if (target.column !== undefined) {
      throw new DialectError(1000, `two fields have the path ${path ?? name}`);
    }
    target.column = column;
  });
  return { root, nodes };
}

/** A name such as `user/id` leads to the key `id` of the object `user`. */
function keysOfName(name: string): readonly string[] {
  const keys = name.split("/");
  return keys.includes("") ? [name] : keys;
}

/** The keys on the way to a field; places in arrays are not supported here. */
function keysOfPath(path: string): readonly string[] {
  return stepsOfPath(path).map((step) => {
    if (typeof step === "string") return step;
    throw new DialectError(1000, `'${path}' goes through an array, which a field's path cannot`, {
      hint: "Declare the array as VARSIZED and use JSON_EXTRACT.",
    });
  });
}
