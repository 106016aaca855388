/** Names of queries and fragments on the wire: both fit into the key of a fact. */
import { parsed } from "../../../../ground/kernel/wire-values.ts";

const queryPattern = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;
const fragmentPattern = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,47}$/;

export function queryNameOf(field: string, raw: string): string {
  return parsed(field, raw, (name) => (queryPattern.test(name) ? name : undefined));
}

export function fragmentNameOf(field: string, raw: string): string {
  return parsed(field, raw, (name) => (fragmentPattern.test(name) ? name : undefined));
}
