/** What the changes of one request share while they are applied, in one transaction. */
import { sql } from "kysely";
import { assert, OperatingError } from "../../../../ground/kernel/errors.ts";
import type { CatalogTx } from "../../../../ground/store/index.ts";
import type { Referred } from "./references.ts";

/** What a worker said of itself when CREATE WORKER dialled it. */
export interface DialledWorker {
  readonly workerId: string;
  readonly incarnation: string;
  readonly dataPort: number;
  readonly capacity: number;
  readonly softwareVersion: string;
}

export interface Applying {
  readonly tx: CatalogTx;
  readonly nowMs: number;
  /** The ids of the rows that each earlier change of the request made; `undefined` if found. */
  readonly ids: readonly (string | undefined)[];
  /** By `host:port`. */
  readonly dialled: ReadonlyMap<string, DialledWorker>;
  readonly bundle: Bundle;
}

/** What the changes of one request have dropped so far (SC34). */
export interface Bundle {
  /** For a single change: nothing is dropped that anything refers to. */
  readonly isAlone: boolean;
  /** The ids of queries that are dropped or replaced. */
  readonly queries: Set<string>;
  /** Sources, views and sinks whose names are free again. */
  readonly superseded: SupersededRow[];
}

export type SupersededRow = Referred & {
  /** `undefined` for a physical source, which has no name. */
  readonly nameKey: string | undefined;
};

/** SC5 */
export async function nextId({ db }: CatalogTx): Promise<string> {
  const { last_id } = await db
    .updateTable("stream_catalog")
    .set({ last_id: sql`last_id + 1` })
    .where("id", "=", 1)
    .returning("last_id")
    .executeTakeFirstOrThrow();
  return String(last_id);
}

const newPrefix = "new:";

/** Whether it is the id of a row that another change of the request makes. */
export function isNewId(written: string): boolean {
  return written.startsWith(newPrefix);
}

/** The id of a row that a change refers to; `new:N` is what the N-th change of the request made. */
export function idOf({ ids }: Applying, written: string): string {
  if (!isNewId(written)) return written;
  const place = Number(written.slice(newPrefix.length));
  assert(place < ids.length, "a change refers to rows of earlier changes");
  const id = ids[place];
  // IF NOT EXISTS found a row that was not there yet when the request was planned.
  if (id === undefined) throw new PlanOutdated();
  return id;
}

/**
 * Thrown where a plan does not fit what the transaction finds, which undoes the transaction: the
 * plan is made anew (SC21).
 */
export class PlanOutdated extends Error {
  override readonly name = "PlanOutdated";
}

export function alreadyExists(what: string, hint: string): OperatingError {
  return new OperatingError("AlreadyExists", "never", `${what} exists already`, { hint });
}
