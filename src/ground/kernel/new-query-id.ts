import { assert } from "./errors.ts";
import { parseQueryId, type QueryId } from "./ids.ts";
import { type Prng, randomText } from "./prng.ts";

/** Whoever begins a query names it; everybody else is told. */
export function newQueryId(prng: Prng): QueryId {
  const queryId = parseQueryId(`q-${randomText(prng, 16)}`);
  assert(queryId !== undefined, "a query's id has the form of one");
  return queryId;
}
