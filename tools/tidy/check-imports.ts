/**
 * Who may import whom:
 *
 *   1  Inside a room kernel <- core <- shell; a core imports no shell and no adapter.
 *   2  Another room is reached through its two index files only. The kernel has none: all of it is
 *      public.
 *   3  Imports go down the floors. Rooms of one floor form no cycle; kinds do not import each
 *      other.
 *   4  Nothing imports a process, and src/ imports nothing outside itself.
 */
import { isAbove, type Room, roomOf } from "./rooms.ts";
import { type Import, importsOf, isTest, type SourceFile } from "./sources.ts";

/** From room to room. */
interface Edge {
  readonly from: string;
  readonly to: string;
  /** `file:line`, of one import that makes it. */
  readonly place: string;
}

export interface ImportsReport {
  readonly findings: readonly string[];
  readonly roomCount: number;
  readonly importCount: number;
}

export function checkImports(files: readonly SourceFile[]): ImportsReport {
  const findings: string[] = [];
  const rooms = new Set<string>();
  const edges = new Map<string, Edge>();
  let importCount = 0;
  for (const file of files) {
    const room = roomOf(file.path);
    if (room === undefined && file.path.startsWith("src/")) {
      findings.push(`${file.path}:1: this folder is on no map (tools/tidy/rooms.ts)`);
    }
    if (room !== undefined) rooms.add(room.name);
    if (isTest(file.path)) continue;
    for (const each of importsOf(file)) {
      importCount += 1;
      const place = `${file.path}:${each.line}`;
      const fault = faultOf(file.path, room, each);
      if (fault !== undefined) findings.push(`${place}: ${fault} (${each.target})`);
      const to = roomOf(each.target);
      if (room === undefined || to === undefined || room.name === to.name) continue;
      edges.set(`${room.name} -> ${to.name}`, { from: room.name, to: to.name, place });
    }
  }
  findings.push(...checkEdges([...edges.values()]));
  return { findings, roomCount: rooms.size, importCount };
}

function faultOf(from: string, room: Room | undefined, { target }: Import): string | undefined {
  if (room === undefined) return undefined;
  if (!target.startsWith("src/")) return "src/ imports nothing outside itself";
  const to = roomOf(target);
  if (to === undefined) return "this folder is on no map (tools/tidy/rooms.ts)";
  if (isKernel(room) && !isKernel(to)) return "the kernel imports nothing of ours";
  if (isCore(from)) {
    if (isAdapter(target)) return "a core takes Clock and Prng as arguments";
    if (!isCore(target) && !isKernel(to)) return "a core imports no shell";
  }
  if (to.floor === "processes" && room.floor !== "processes") return "nothing imports a process";
  if (room.folder === to.folder || isKernel(to) || target.includes("/testing/")) return undefined;
  if (room.floor === "processes") return undefined;
  return target === `${to.folder}index.ts` || target === `${to.folder}core/index.ts`
    ? undefined
    : "another room is reached through its index files only";
}

function checkEdges(edges: readonly Edge[]): string[] {
  return edges.flatMap((edge) => {
    const fault = edgeFault(edge, edges);
    return fault === undefined ? [] : [`${edge.place}: ${fault} (${edge.from} -> ${edge.to})`];
  });
}

function edgeFault({ from, to }: Edge, edges: readonly Edge[]): string | undefined {
  const [above, below] = [floorOf(from), floorOf(to)];
  if (isAbove(below, above)) return "imports go down the floors";
  if (above === "kinds" && below === "kinds") return "kinds do not import each other";
  if (above === below && reaches(to, from, edges)) return "rooms of one floor form no cycle";
  return undefined;
}

/** Along rooms of one floor: the way to a lower one never leads back. */
function reaches(start: string, goal: string, edges: readonly Edge[]): boolean {
  const seen = new Set([start]);
  const open = [start];
  for (let room = open.pop(); room !== undefined; room = open.pop()) {
    if (room === goal) return true;
    for (const { from, to } of edges) {
      if (from !== room || seen.has(to) || floorOf(to) !== floorOf(goal)) continue;
      seen.add(to);
      open.push(to);
    }
  }
  return false;
}

function floorOf(name: string): Room["floor"] {
  return roomOf(`src/${name}/x.ts`)?.floor ?? "processes";
}

function isKernel({ name }: Room): boolean {
  return name === "ground/kernel";
}

/** Pure: no node:*, no waiting, no clock of its own. */
export function isCore(path: string): boolean {
  return path.startsWith("src/") && path.includes("/core/");
}

/** Time and randomness enter the program here and nowhere else. */
export function isAdapter(path: string): boolean {
  return roomOf(path)?.name === "ground/kernel" && path.includes("/node/");
}
