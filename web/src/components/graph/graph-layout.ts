/**
 * Lays out a graph without cycles from left to right. Pure.
 * Nodes without sources are in the first level; any other node is one level to the right of the
 * rightmost one that it reads. An edge over several levels runs through a lane in each level
 * between, shared by all such edges of one node, so that it passes between nodes. Several sweeps
 * choose the order within a level with the fewest crossings. The same nodes give the same picture,
 * in any order of input.
 */
export interface GraphNode {
  readonly id: string;
  readonly sources: readonly string[];
}

export interface GraphSize {
  readonly width: number;
  readonly height: number;
  readonly gapX: number;
  readonly gapY: number;
}

export interface PlacedNode {
  readonly id: string;
  readonly level: number;
  readonly x: number;
  readonly y: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface PlacedEdge {
  readonly from: string;
  readonly to: string;
  /** The ends of straight parts, in pairs; curves join them. */
  readonly points: readonly Point[];
}

export interface GraphLayout {
  readonly width: number;
  readonly height: number;
  /** Sorted by level, then from top to bottom. */
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}

interface Slot {
  readonly key: string;
  readonly node: string | undefined;
  readonly level: number;
  readonly before: Slot[];
  readonly after: Slot[];
  y: number;
}

const sweeps = 12;
const alignments = 8;
const laneHeight = 8;

export function layOutGraph(nodes: readonly GraphNode[], size: GraphSize): GraphLayout {
  const sorted = nodes.toSorted((a, b) => compare(a.id, b.id)); // The input order does not matter.
  const levels = levelsOf(sorted);
  const { layers, edges } = buildSlots(sorted, levels);
  orderLayers(layers);
  const heightOf = (slot: Slot): number => (slot.node === undefined ? laneHeight : size.height);
  placeLayers(layers, heightOf, size.gapY);
  const slots = layers.flat();
  const top = Math.min(0, ...slots.map(({ y }) => y));
  const bottom = Math.max(0, ...slots.map((slot) => slot.y + heightOf(slot)));
  const xOf = (level: number): number => level * (size.width + size.gapX);
  const middle = (slot: Slot): number => slot.y - top + heightOf(slot) / 2;
  return {
    width: Math.max(0, xOf(layers.length) - size.gapX),
    height: bottom - top,
    nodes: slots.flatMap(({ node, level, y }) =>
      node === undefined ? [] : [{ id: node, level, x: xOf(level), y: y - top }],
    ),
    edges: edges.map(({ from, to, path }) => ({
      from,
      to,
      points: path.flatMap((slot, index) => {
        const left = { x: xOf(slot.level), y: middle(slot) };
        const right = { x: left.x + size.width, y: left.y };
        if (index === 0) return [right];
        return index === path.length - 1 ? [left] : [left, right];
      }),
    })),
  };
}

/** Ignores sources that are not among the nodes. */
function levelsOf(nodes: readonly GraphNode[]): ReadonlyMap<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const levels = new Map<string, number>();
  const levelOf = (node: GraphNode): number => {
    const known = levels.get(node.id);
    if (known !== undefined) return known;
    levels.set(node.id, 0); // A cycle would end here; there are none.
    const above = node.sources.flatMap((source) => byId.get(source) ?? []);
    const level = above.length === 0 ? 0 : 1 + Math.max(...above.map(levelOf));
    levels.set(node.id, level);
    return level;
  };
  for (const node of nodes) levelOf(node);
  return levels;
}

interface SlotEdge {
  readonly from: string;
  readonly to: string;
  readonly path: readonly Slot[];
}

function buildSlots(
  nodes: readonly GraphNode[],
  levels: ReadonlyMap<string, number>,
): { readonly layers: Slot[][]; readonly edges: readonly SlotEdge[] } {
  const layers: Slot[][] = Array.from({ length: Math.max(0, ...levels.values()) + 1 }, () => []);
  if (nodes.length === 0) layers.length = 0;
  const slots = new Map<string, Slot>();
  const slotOf = (key: string, node: string | undefined, level: number): Slot => {
    const known = slots.get(key);
    if (known !== undefined) return known;
    const slot: Slot = { key, node, level, before: [], after: [], y: 0 };
    slots.set(key, slot);
    layers[level]?.push(slot);
    return slot;
  };
  for (const { id } of nodes) slotOf(id, id, levels.get(id) ?? 0);
  const edges: SlotEdge[] = [];
  for (const { id, sources } of nodes) {
    const to = slotOf(id, id, levels.get(id) ?? 0);
    for (const source of [...new Set(sources)].sort(compare)) {
      const level = levels.get(source);
      if (level === undefined) continue;
      const path = [slotOf(source, source, level)];
      for (let at = level + 1; at < to.level; at += 1) {
        path.push(slotOf(`${source}\n${at}`, undefined, at));
      }
      path.push(to);
      for (const [index, slot] of path.entries()) {
        const next = path[index + 1];
        if (next === undefined || slot.after.includes(next)) continue;
        slot.after.push(next);
        next.before.push(slot);
      }
      edges.push({ from: source, to: id, path });
    }
  }
  return { layers, edges };
}

/** Sorts by barycentres, in sweeps in both directions. */
function orderLayers(layers: Slot[][]): void {
  let best = layers.map((layer) => [...layer]);
  let fewest = crossingsOf(layers);
  for (let sweep = 0; sweep < sweeps && fewest > 0; sweep += 1) {
    const rightwards = sweep % 2 === 0;
    const order = rightwards ? layers : layers.toReversed();
    for (const layer of order) {
      const neighbours = rightwards ? "before" : "after";
      const places = placesOf(layers);
      const centre = new Map(
        layer.map((slot, index) => {
          const near = slot[neighbours].map((each) => places.get(each) ?? 0);
          return [slot, near.length === 0 ? index : mean(near)];
        }),
      );
      layer.sort((a, b) => (centre.get(a) ?? 0) - (centre.get(b) ?? 0) || compare(a.key, b.key));
    }
    const crossings = crossingsOf(layers);
    if (crossings >= fewest) continue;
    fewest = crossings;
    best = layers.map((layer) => [...layer]);
  }
  for (const [index, layer] of best.entries()) layers[index] = layer;
}

function placesOf(layers: readonly Slot[][]): Map<Slot, number> {
  return new Map(layers.flatMap((layer) => layer.map((slot, index) => [slot, index] as const)));
}

function crossingsOf(layers: readonly Slot[][]): number {
  const places = placesOf(layers);
  let crossings = 0;
  for (const layer of layers) {
    const ends = layer.flatMap((slot, from) =>
      slot.after.map((next) => ({ from, to: places.get(next) ?? 0 })),
    );
    for (const [index, one] of ends.entries()) {
      for (const other of ends.slice(index + 1)) {
        if ((one.from - other.from) * (one.to - other.to) < 0) crossings += 1;
      }
    }
  }
  return crossings;
}

function placeLayers(
  layers: readonly Slot[][],
  heightOf: (slot: Slot) => number,
  gap: number,
): void {
  for (const layer of layers)
    settle(
      layer,
      layer.map(() => 0),
      heightOf,
      gap,
    );
  for (let turn = 0; turn < alignments; turn += 1) {
    const order = turn % 2 === 0 ? layers : layers.toReversed();
    for (const layer of order) {
      const wanted = layer.map((slot) => {
        const near = [...slot.before, ...slot.after].map((each) => each.y + heightOf(each) / 2);
        return (near.length === 0 ? slot.y + heightOf(slot) / 2 : mean(near)) - heightOf(slot) / 2;
      });
      settle(layer, wanted, heightOf, gap);
    }
  }
}

/**
 * Places each as near to its wanted position as order and gaps allow: neighbours that would overlap
 * move together.
 */
function settle(
  layer: readonly Slot[],
  wanted: readonly number[],
  heightOf: (slot: Slot) => number,
  gap: number,
): void {
  interface Block {
    readonly slots: { readonly slot: Slot; readonly offset: number }[];
    sum: number;
    height: number;
  }
  const topOf = (block: Block): number => block.sum / block.slots.length;
  const blocks: Block[] = [];
  for (const [index, slot] of layer.entries()) {
    let block: Block = {
      slots: [{ slot, offset: 0 }],
      sum: wanted[index] ?? 0,
      height: heightOf(slot) + gap,
    };
    for (let last = blocks.at(-1); last !== undefined; last = blocks.at(-1)) {
      if (topOf(last) + last.height <= topOf(block)) break;
      blocks.pop();
      const { height } = last;
      const moved = block.slots.map((each) => ({ ...each, offset: each.offset + height }));
      block = {
        slots: [...last.slots, ...moved],
        sum: last.sum + block.sum - height * block.slots.length,
        height: height + block.height,
      };
    }
    blocks.push(block);
  }
  for (const block of blocks) {
    for (const { slot, offset } of block.slots) slot.y = topOf(block) + offset;
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
