/**
 * The map of the house: which floor and room a file of src/ belongs to. The floors, from below:
 *
 *   ground     what every kind of work stands on; knows no kind
 *   data       what data is made of; knows no kind
 *   kinds      ask, stream, refresh, load; they do not import each other
 *   faces      what people and other programs meet
 *   processes  coordinator, worker, cli: wiring
 *
 * Rooms lie at `src/<floor>/<room>/`, processes at `src/<process>/`. Folders that have not moved
 * there yet are in `today`; that list only gets shorter.
 */

export const floors = ["ground", "data", "kinds", "faces", "processes"] as const;
export type Floor = (typeof floors)[number];

export interface Room {
  readonly floor: Floor;
  /** `ground/store`; of a process its name. */
  readonly name: string;
  /** Where its files lie, with a slash at the end. */
  readonly folder: string;
}

export const processes: readonly string[] = ["cli", "coordinator", "worker"];

/** The first that fits: `queries` holds three subjects. */
const today: readonly (readonly [prefix: string, name: string])[] = [
  ["src/kernel/", "ground/kernel"],
  ["src/store/", "ground/store"],
  ["src/reconcile/", "ground/reconcile"],
  ["src/cluster/", "ground/cluster"],
  ["src/process/", "ground/process"],
  ["src/observe/", "ground/observe"],
  ["src/workcoord/", "ground/work"],
  ["src/parquet/", "data/parquet"],
  ["src/sql/", "data/sql"],
  ["src/lake/", "data/lake"],
  ["src/queries/duckdb/", "data/duckdb"],
  ["src/queries/sql/", "data/duckdb"],
  ["src/queries/core/engine", "data/duckdb"],
  ["src/queries/promql/", "kinds/ask"],
  ["src/queries/core/promql", "kinds/ask"],
  ["src/queries/", "ground/work"],
  ["src/promql/", "kinds/ask"],
  ["src/metrics/", "kinds/ask"],
  ["src/tables/", "kinds/refresh"],
  ["src/load/", "kinds/load"],
  ["src/api/", "faces/api"],
  ["src/backup/", "faces/backup"],
];

/** `undefined`: a file outside src/, or one in a folder that is on no map. */
export function roomOf(path: string): Room | undefined {
  const [top, first, second] = path.split("/");
  if (top !== "src" || first === undefined) return undefined;
  if (processes.includes(first)) {
    return { floor: "processes", name: first, folder: `src/${first}/` };
  }
  const name =
    today.find(([prefix]) => path.startsWith(prefix))?.[1] ??
    (second === undefined ? first : `${first}/${second}`);
  const floor = floors.find((each) => name.startsWith(`${each}/`));
  if (floor === undefined) return undefined;
  return { floor, name, folder: name === `${first}/${second}` ? `src/${name}/` : `src/${first}/` };
}

export function isAbove(one: Floor, other: Floor): boolean {
  return floors.indexOf(one) > floors.indexOf(other);
}

/**
 * What the map forbids and is there still, from room to room, with what will end it. This list only
 * gets shorter.
 */
export const owed: ReadonlyMap<string, string> = new Map([
  ["ground/observe -> data/lake", "metrics move to what they measure"],
  ["ground/work -> data/duckdb", "queries becomes three rooms"],
  ["ground/work -> kinds/ask", "queries becomes three rooms"],
  ["ground/cluster -> ground/work", "the control session carries channels"],
  ["data/sql -> data/lake", "sql declares the port that the lake fills"],
]);
