/**
 * Which dynamic table reads which: a graph without cycles, whose leaves are plain tables of the lake.
 *
 *   G1  A plain table is known by its id alone and reads nothing.
 *   G2  `upstream` and `downstream` are of dynamic tables, without the table itself, nearest last and nearest first: every table
 *       comes after all that it reads.
 */
import type { TableId } from "../../../data/lake/core/index.ts";

export interface GraphNode {
  readonly tableId: TableId;
  /** For people. */
  readonly label: string;
  /** What it reads, plain tables among them. */
  readonly sources: readonly TableId[];
}

export class TableGraph<N extends GraphNode = GraphNode> {
  readonly #nodes: ReadonlyMap<TableId, N>;
  readonly #readers = new Map<TableId, N[]>();
  /** Every table after its sources. */
  readonly #order: readonly N[];

  constructor(nodes: Iterable<N>) {
    this.#nodes = new Map(Array.from(nodes, (node) => [node.tableId, node]));
    for (const node of this.#nodes.values()) {
      for (const source of node.sources) {
        const readers = this.#readers.get(source);
        if (readers === undefined) this.#readers.set(source, [node]);
        else readers.push(node);
      }
    }
    this.#order = this.#sort();
  }

  get inOrder(): readonly N[] {
    return this.#order;
  }

  get(tableId: TableId): N | undefined {
    return this.#nodes.get(tableId);
  }

  /** Those that read it directly; it may be a plain table. */
  readersOf(tableId: TableId): readonly N[] {
    return this.#readers.get(tableId) ?? [];
  }

  /** The dynamic tables that it reads directly. */
  dynamicSourcesOf(tableId: TableId): readonly N[] {
    const sources = this.#nodes.get(tableId)?.sources ?? [];
    return sources.flatMap((source) => this.#nodes.get(source) ?? []);
  }

  upstreamOf(tableId: TableId): readonly N[] {
    const found = this.#reach([tableId], (id) => this.dynamicSourcesOf(id));
    return this.#order.filter((node) => found.has(node.tableId));
  }

  downstreamOf(tableId: TableId): readonly N[] {
    const found = this.#reach([tableId], (id) => this.readersOf(id));
    return this.#order.filter((node) => found.has(node.tableId));
  }

  /** Every table that shares a dynamic table with it, directly or through others; itself among them. */
  componentOf(tableId: TableId): readonly N[] {
    const around = (id: TableId) => [...this.dynamicSourcesOf(id), ...this.readersOf(id)];
    const found = this.#reach([tableId], around);
    return this.#order.filter((node) => found.has(node.tableId) || node.tableId === tableId);
  }

  /** The names along the cycle that there would be if `tableId` read `sources`; `undefined`: there would be none. */
  findCycle(tableId: TableId, sources: readonly TableId[]): readonly string[] | undefined {
    const label = this.#nodes.get(tableId)?.label;
    if (label === undefined) return undefined; // Nobody reads what is not there yet.
    if (sources.includes(tableId)) return [label, label];
    for (const source of sources) {
      const path = this.#pathBetween(source, tableId, new Set());
      if (path !== undefined) return [label, ...path];
    }
    return undefined;
  }

  /** From `from` along what it reads to `to`, both included. */
  #pathBetween(from: TableId, to: TableId, seen: Set<TableId>): readonly string[] | undefined {
    const node = this.#nodes.get(from);
    if (node === undefined || seen.has(from)) return undefined;
    if (from === to) return [node.label];
    seen.add(from);
    for (const source of node.sources) {
      const path = this.#pathBetween(source, to, seen);
      if (path !== undefined) return [node.label, ...path];
    }
    return undefined;
  }

  #reach(from: readonly TableId[], next: (id: TableId) => readonly N[]): ReadonlySet<TableId> {
    const found = new Set<TableId>();
    const open = [...from];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      for (const { tableId } of next(id)) {
        if (found.has(tableId)) continue;
        found.add(tableId);
        open.push(tableId);
      }
    }
    for (const id of from) found.delete(id);
    return found;
  }

  /** By depth, then by id, so that the order depends on nothing else. */
  #sort(): readonly N[] {
    const depths = new Map<TableId, number>();
    const depthOf = (node: N): number => {
      const known = depths.get(node.tableId);
      if (known !== undefined) return known;
      depths.set(node.tableId, 0); // A cycle, which the store refuses, ends here instead of never.
      const below = this.dynamicSourcesOf(node.tableId).map(depthOf);
      const depth = below.length === 0 ? 0 : Math.max(...below) + 1;
      depths.set(node.tableId, depth);
      return depth;
    };
    return [...this.#nodes.values()].sort(
      (left, right) => depthOf(left) - depthOf(right) || left.tableId - right.tableId,
    );
  }
}
