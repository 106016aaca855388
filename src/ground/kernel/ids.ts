/** Typed ids. Text from outside becomes an id only through its `parse` function. */
declare const brand: unique symbol;
export type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** A worker's stable name. It survives restarts and changes of address. */
export type WorkerId = Brand<string, "WorkerId">;
/** One run of a worker's process. A worker that restarts keeps its `WorkerId` and changes this. */
export type Incarnation = Brand<string, "Incarnation">;
/** One run of a process that dials workers: a coordinator or a query-api replica. */
export type ControllerId = Brand<string, "ControllerId">;
export type QueryId = Brand<string, "QueryId">;
/** A leaf of a query: the part of its expression that workers compute. Unique within its query. */
export type LeafId = Brand<string, "LeafId">;
/** One unit of assignable work. Unique within its leaf. */
export type WorkId = Brand<string, "WorkId">;
/** Grows with every dial of the same worker by the same controller; older frames are stale. */
export type SessionEpoch = Brand<number, "SessionEpoch">;
/** Grows with every grant of the coordinator's lease; writes under an older one fail. */
export type LeaseEpoch = Brand<number, "LeaseEpoch">;
/** Position in the change log, in commit order. */
export type Revision = Brand<number, "Revision">;

/** The HTTP header with the query that a request or an answer belongs to. */
export const queryIdHeader = "x-capstan-query-id";

const namePattern = /^[a-z0-9][a-z0-9-]{0,62}$/;
const tokenPattern = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;

/** The only way text from outside becomes a `WorkerId`. */
export function parseWorkerId(text: string): WorkerId | undefined {
  return namePattern.test(text) ? (text as WorkerId) : undefined;
}
export function parseIncarnation(text: string): Incarnation | undefined {
  return tokenPattern.test(text) ? (text as Incarnation) : undefined;
}
export function parseControllerId(text: string): ControllerId | undefined {
  return tokenPattern.test(text) ? (text as ControllerId) : undefined;
}
export function parseQueryId(text: string): QueryId | undefined {
  return tokenPattern.test(text) ? (text as QueryId) : undefined;
}
export function parseLeafId(text: string): LeafId | undefined {
  return tokenPattern.test(text) ? (text as LeafId) : undefined;
}
export function parseWorkId(text: string): WorkId | undefined {
  return tokenPattern.test(text) ? (text as WorkId) : undefined;
}
export function parseSessionEpoch(value: number): SessionEpoch | undefined {
  return Number.isSafeInteger(value) && value > 0 ? (value as SessionEpoch) : undefined;
}
export function parseLeaseEpoch(value: number): LeaseEpoch | undefined {
  return Number.isSafeInteger(value) && value >= 0 ? (value as LeaseEpoch) : undefined;
}
export function parseRevision(value: number): Revision | undefined {
  return Number.isSafeInteger(value) && value >= 0 ? (value as Revision) : undefined;
}
