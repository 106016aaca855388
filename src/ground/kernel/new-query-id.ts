import { assert } from "./errors.ts";
import { parseQueryId, type QueryId } from "./ids.ts";
import { type Prng, randomText } from "./prng.ts";

/** Called by the process that begins a query; all others are told the id. */
export function newQueryId(prng: Prng): QueryId {
  const queryId = parseQueryId(`q-${randomText(prng, 16)}`);
  assert(queryId !== undefined, "a query's id has the form of one");
  return queryId;
}
