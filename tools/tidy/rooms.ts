/**
 * The map of the house: which floor and room a file of src/ belongs to. The floors, from below:
 *
 *   ground     what every kind of work stands on; knows no kind
 *   data       what data is made of; knows no kind
 *   kinds      ask, stream, refresh, load; they do not import each other
 *   faces      what people and other programs meet
 *   processes  coordinator, worker, cli: wiring
 *
 * Rooms lie at `src/<floor>/<room>/`, processes at `src/<process>/`. A large room has halls with
 * index files of their own (`halls`), which count as one room on the map.
 */

export const floors = ["ground", "data", "kinds", "faces", "processes"] as const;
export type Floor = (typeof floors)[number];

export interface Room {
  readonly floor: Floor;
  /** `ground/store`; of a process its name. */
  readonly name: string;
  /** Where its index files and those behind them lie, with a slash at the end. */
  readonly folder: string;
}

export const processes: readonly string[] = ["cli", "coordinator", "worker"];

const halls: readonly string[] = [
  "kinds/ask/metrics",
  "kinds/ask/promql",
  "kinds/ask/run",
  "kinds/stream/catalog",
  "kinds/stream/engine",
  "kinds/stream/fleet",
  "kinds/stream/language",
  "kinds/stream/run",
];

/** `undefined`: a file outside src/, or one in a folder that is on no map. */
export function roomOf(path: string): Room | undefined {
  const [top, first, second] = path.split("/");
  if (top !== "src" || first === undefined) return undefined;
  if (processes.includes(first)) {
    return { floor: "processes", name: first, folder: `src/${first}/` };
  }
  const floor = floors.find((each) => each === first);
  if (floor === undefined || second === undefined) return undefined;
  const name = `${first}/${second}`;
  const hall = halls.find((each) => path.startsWith(`src/${each}/`));
  return { floor, name, folder: `src/${hall ?? name}/` };
}

export function isAbove(one: Floor, other: Floor): boolean {
  return floors.indexOf(one) > floors.indexOf(other);
}
