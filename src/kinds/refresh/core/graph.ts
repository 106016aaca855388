/**
 * The graph of which dynamic table reads which. It has no cycles, and its leaves are plain tables
 * of the lake. A plain table is known by its id alone. `upstreamOf` and `downstreamOf` give dynamic
 * tables without the table itself, every table after those that it reads.
 */
import type { TableId } from "../../../data/lake/core/index.ts";

export interface GraphNode {
  readonly tableId: TableId;
  /** The table's name in messages. */
  readonly label: string;
  /** The tables that it reads, plain and dynamic. */
  readonly sources: readonly TableId[];
}

export class TableGraph<N extends GraphNode = GraphNode> {
  readonly #nodes: ReadonlyMap<TableId, N>;
  readonly #readers = new Map<TableId, N[]>();
  /** Every table comes after its sources. */
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

  /** The dynamic tables that read it directly. It may be a plain table. */
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

  /** Every table that is connected to it through dynamic tables, itself included. */
  componentOf(tableId: TableId): readonly N[] {
    const around = (id: TableId) => [...this.dynamicSourcesOf(id), ...this.readersOf(id)];
    const found = this.#reach([tableId], around);
    return this.#order.filter((node) => found.has(node.tableId) || node.tableId === tableId);
  }

  /** The names along the cycle, if there would be one, were `tableId` to read `sources`. */
  findCycle(tableId: TableId, sources: readonly TableId[]): readonly string[] | undefined {
    const label = this.#nodes.get(tableId)?.label;
    if (label === undefined) return undefined; // A table that does not exist yet has no readers.
    if (sources.includes(tableId)) return [label, label];
    for (const source of sources) {
      const path = this.#pathBetween(source, tableId, new Set());
      if (path !== undefined) return [label, ...path];
    }
    return undefined;
  }

  /** The path from `from` along its sources to `to`, both inclusive. */
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

  /** Sorts by depth, then by id, so that the order is deterministic. */
  #sort(): readonly N[] {
    const depths = new Map<TableId, number>();
    const depthOf = (node: N): number => {
      const known = depths.get(node.tableId);
      if (known !== undefined) return known;
      depths.set(node.tableId, 0); // Ends the recursion on a cycle, which the store refuses anyway.
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
